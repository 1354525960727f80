// The code of the thresholds a_abft (V-ABFT design specification 1.2, section 4) and
// a_abft_original (Braun, Halder, Wunderlich, DSN 2014).
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/row_forms.h"

namespace assay::inline v0_2::abft {

BoundForm a_abft_form(const RowForms& rows, std::int64_t row, std::int64_t group);
void prepare_a_abft_original(const CheckedProduct& product, const Format& output, Prepared& to);

}  // namespace assay::abft
