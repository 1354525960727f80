// exp, log, sqrt, rsqrt, tanh, sigmoid, silu, gelu: functions of each element.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns these operators: x (...), of one float dtype. gelu's `approximate` is "none" (default)
// for x Phi(x), or "tanh" for x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). `compute_dtype`
// widens the operand first.
//
// A machine computes step by step in its unit's format, and rounds each step (docs/operators). The
// golden result is the correctly rounded float64 (op/function_reference.h).
//
// The tolerance is the largest error that the roundings of all steps can add up to on any machine,
// without overflow of finite results. docs/operators derives it.
std::vector<Operator> function_operators();

}  // namespace assay
