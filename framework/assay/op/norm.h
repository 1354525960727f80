// softmax, layernorm, rmsnorm: rows along one dimension, each by its own maximum, mean or mean
// square.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// Their rows of the table: x (...), float; `axis` (default -1) is the dimension of a row of x, of n
// elements. `order` and `block_size` say how sums are added, as in reduce_sum; `compute_dtype`
// widens the operands first. weight and bias [n] are optional and of x's dtype. No dimension is 0.
//
//   softmax    exp(x - max x) / sum exp(x - max x)
//   layernorm  (x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias     eps 1e-5
//   rmsnorm    x / sqrt(mean x^2 + eps) weight                                  eps 1e-6
//
// A machine computes step by step in its unit's format, each step rounded (docs/operators). Golden
// results are rounded once, from more than a hundred bits (op/norm_reference.h).
// How far a result may be off: op/norm_bounds.h.
std::vector<Operator> norm_operators();

}  // namespace assay
