// softmax, layernorm, rmsnorm: rows along one dimension, each by its own maximum, mean or mean
// square.
#pragma once

#include "assay/op/operator.h"

namespace assay {

// x (...): float; `axis` (default -1) is the dimension of a row, of n elements. `order` and
// `block_size` say how sums are added, as in reduce_sum; `compute_dtype` widens the operands first.
// weight and bias [n] are optional and of x's dtype. No dimension is 0.
//
//   softmax    exp(x - max x) / sum exp(x - max x)
//   layernorm  (x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias     eps 1e-5
//   rmsnorm    x / sqrt(mean x^2 + eps) weight                                  eps 1e-6
//
// A machine computes step by step in its unit's format, each step rounded (docs/operators). Golden
// results are long double throughout, with compensated sums, rounded once.
Tensor run_softmax(const Call& call);
Tensor run_layernorm(const Call& call);
Tensor run_rmsnorm(const Call& call);

// What the rounding of every step may add up to, whatever the machine; without overflow. Throws
// std::invalid_argument for inputs that hold NaN or infinity, and where roundings leave no digit.
DerivedTolerance norm_tolerance(const Case& test_case);

// The same bound for each element, without the conversion to the output's format: float64, of x's
// shape. docs/operators/norms.md derives it.
Tensor norm_bounds(const Case& test_case);

}  // namespace assay
