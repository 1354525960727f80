// The code of the thresholds rounding_variance and residual_compensated (docs/abft.md). It uses the
// variance of the rounding errors of C and of its accumulation.
#pragma once

#include <cstdint>
#include <string>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/row_forms.h"

namespace assay::inline v0_2::abft {

void prepare_rounding_variance(const CheckedProduct& product, const Format& output, Prepared& to);
BoundForm rounding_variance_form(const RowForms& rows, std::int64_t row, std::int64_t group);
std::string why_not_rounding_variance(const CheckedProduct& product, const Format& output);

}  // namespace assay::abft
