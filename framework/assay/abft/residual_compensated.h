// The code of the threshold residual_compensated (docs/abft.md): what is left of a check where the
// kernel's own R = sum (c32 - c16) is added to its row sum, and what R itself may be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/reading.h"
#include "assay/abft/row_forms.h"

namespace assay::abft {

// The error of the accumulation alone, and of R's own float32 sum.
BoundForm residual_compensated_form(const RowForms& rows, std::int64_t row, std::int64_t group);
// The roundings of the outputs alone: what |R| is held against.
BoundForm rounding_form(const RowForms& rows, std::int64_t row, std::int64_t group);

// The cast of one element, which rounds to nearest: |cast - before| against half an ulp, where what
// is beyond the largest number may be that number. No variance.
Reading cast_reading(const Format& output, double cast, double before);

// R of every check: what the cast of C (m x n) took away, in float64.
std::vector<double> residuals_of(const CheckedProduct& product, const TensorView& c,
                                 const TensorView& before);

}  // namespace assay::abft
