// How far softmax, layernorm and rmsnorm may be from their exact value by the rounding of their
// steps: docs/operators/norms.md derives what is computed here.
#pragma once

#include "assay/op/norm_case.h"

namespace assay {

// What the rounding of every step may add up to, whatever the machine; without overflow. Elements
// that a NaN or infinity reaches do not count. Throws std::invalid_argument if roundings leave no
// digit of a row, or a step may leave its range.
DerivedTolerance norm_tolerance(const Case& test_case, NormKind kind);

// The same bound for each element, without the conversion to the output's format: float64, of x's
// shape. Only rows and elements without a bound lose theirs (held_bounds() of op/sum_bound.h).
// Throws std::invalid_argument if that leaves none.
Tensor norm_bounds(const Case& test_case, NormKind kind);

}  // namespace assay
