// How far softmax, layernorm and rmsnorm may be from their exact value by the rounding of their
// steps: docs/operators/norms.md derives what is computed here.
#pragma once

#include "assay/op/norm_case.h"

namespace assay {

// What the rounding of every step may add up to, whatever the machine; without overflow. Throws
// std::invalid_argument for inputs that hold NaN or infinity, and where roundings leave no digit.
DerivedTolerance norm_tolerance(const Case& test_case, NormKind kind);

// The same bound for each element, without the conversion to the output's format: float64, of x's
// shape.
Tensor norm_bounds(const Case& test_case, NormKind kind);

}  // namespace assay
