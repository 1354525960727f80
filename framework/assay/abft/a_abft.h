// The code of the thresholds a_abft (V-ABFT design specification 1.2, section 4) and
// a_abft_original (Braun, Halder, Wunderlich, DSN 2014).
#pragma once

#include <cstdint>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/row_forms.h"

namespace assay::inline v0_2::abft {

// The threshold of a_abft is per_largest max|c| + per_weighted sum_k |a_k| max_j|b_kj| +
// per_product max|a| max|b|.
struct AAbftFactors {
  double per_largest, per_weighted, per_product;
};
AAbftFactors a_abft_factors(const Format& output, std::int64_t n, std::int64_t k);

BoundForm a_abft_form(const RowForms& rows, std::int64_t row, std::int64_t group);
void prepare_a_abft_original(const CheckedProduct& product, const Format& output, Prepared& to);

}  // namespace assay::abft
