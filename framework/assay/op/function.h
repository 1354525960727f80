// exp, log, sqrt, rsqrt, tanh, sigmoid, silu, gelu: functions of each element.
#pragma once

#include "assay/op/operator.h"

namespace assay {

// x (...): one float dtype. gelu's `approximate`: none (default), x Phi(x); tanh,
// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). `compute_dtype` widens the operand first.
//
// A machine computes step by step in its unit's format, each step rounded (docs/operators). The
// golden result is within 0.51 ulps of float64, gelu's within one (op/function_reference.h).
Tensor run_function(const Call& call);

// What the rounding of every step may add up to, whatever the machine; without overflow of finite
// results. docs/operators derives it.
DerivedTolerance function_tolerance(const Case& test_case);

}  // namespace assay
