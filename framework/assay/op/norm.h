// softmax, layernorm and rmsnorm: each row along one dimension is scaled by its own maximum, mean
// or mean square.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns these operators: x (...), float. `axis` (default -1) is the dimension of a row of x,
// which has n elements. `order` and `block_size` select the order of sums, as in reduce_sum.
// `compute_dtype` widens the operands first. weight and bias [n] are optional and have x's dtype.
// No dimension may be 0.
//
//   softmax    exp(x - max x) / sum exp(x - max x)
//   layernorm  (x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias     eps 1e-5
//   rmsnorm    x / sqrt(mean x^2 + eps) weight                                  eps 1e-6
//
// A machine computes step by step in its unit's format, and rounds each step (docs/operators).
// Golden results are rounded once, from more than a hundred bits (op/norm_reference.h).
// op/norm_bounds.h bounds the error of a result.
std::vector<Operator> norm_operators();

}  // namespace assay
