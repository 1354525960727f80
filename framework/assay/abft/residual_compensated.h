// The code of the threshold residual_compensated (docs/abft.md). It bounds the difference that is
// left after the kernel's own R = sum (c32 - c16) is added to the row sum, and R itself.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/bound_form.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/reading.h"
#include "assay/abft/row_forms.h"

namespace assay::inline v0_2::abft {

// Returns the form for the row sum after R is added to it. It covers only the error of the
// accumulation and of R's own float32 sum.
BoundForm residual_compensated_form(const RowForms& rows, std::int64_t row, std::int64_t group);
// Returns the form with which |R| is compared. It covers only the rounding of the outputs.
BoundForm rounding_form(const RowForms& rows, std::int64_t row, std::int64_t group);

// Reads the check of one element's cast, which rounds to nearest: compares |cast - before| with
// half an ulp. Values beyond the largest finite number may be cast to that number. The reading has
// no variance.
Reading cast_reading(const Format& output, double cast, double before);

// Returns R of every check in float64: C (m x n) before its cast minus C after it.
std::vector<double> residuals_of(const CheckedProduct& product, const TensorView& c,
                                 const TensorView& before);

}  // namespace assay::abft
