// exp, log, sqrt, rsqrt, tanh, sigmoid, silu, gelu: functions of each element.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// Their rows: x (...), of one float dtype. gelu's `approximate`: none (default), x Phi(x); tanh,
// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). `compute_dtype` widens the operand first.
//
// A machine computes step by step in its unit's format, each step rounded (docs/operators). The
// golden result is the correctly rounded float64 (op/function_reference.h).
//
// Tolerance: what the rounding of every step may add up to, whatever the machine; without overflow
// of finite results. docs/operators derives it.
std::vector<Operator> function_operators();

}  // namespace assay
