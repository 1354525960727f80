// Bounds of the rounding errors of softmax, layernorm and rmsnorm. docs/operators/norms.md derives
// the formulas that are computed here.
#pragma once

#include "assay/op/norm_case.h"

namespace assay::inline v0_2 {

// Returns the largest error that the roundings of all steps can add up to on any machine, as a
// tolerance for all elements, without overflow. Elements that a NaN or infinity reaches do not
// count. Throws Refusal if roundings leave no digit of a row, or if a step may leave its range.
DerivedTolerance norm_tolerance(const Case& test_case, NormKind kind);

// Returns for each element the largest error that the roundings of all steps can add up to on any
// machine, without the conversion to the output's format: float64, of x's shape. A row or element
// for which no bound can be derived gets none, and the others keep theirs (held_bounds() of
// op/sum_bound.h). Throws Refusal if no element has a bound.
Tensor norm_bounds(const Case& test_case, NormKind kind);

}  // namespace assay
