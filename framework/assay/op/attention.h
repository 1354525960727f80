// attention: softmax(scale q k^T) v, plain or by tiles of keys.
#pragma once

#include "assay/op/operator.h"

namespace assay {

// q (..., L, D), k (..., S, D), v (..., S, E) of one float dtype and the same batch dimensions ->
// (..., L, E). `scale` (default 1 / sqrt(D)); `causal`: query i sees keys 0 to i; `tile`: keys are
// taken so many at a time with a running maximum and sum (Dao et al., FlashAttention, 2022), 0
// (default): all at once. `order` and `block_size` are those of the sums of a row (of a tile).
//
// A machine takes both products on its matrix unit, with float32 results, and everything between on
// its vector unit in float32; the weights go into the second product in the operands' dtype. Golden
// results: products in twice the precision of float64, the softmax in long double.
// docs/operators/attention.md lists the steps.
Tensor run_attention(const Call& call);

// What the rounding of every step may add up to, with float32 accumulation in any order; without
// overflow. Throws std::invalid_argument for inputs that hold NaN or infinity, and where roundings
// leave no digit.
DerivedTolerance attention_tolerance(const Case& test_case);

// The same bound for each element, without the conversion to the output's format: float64, of the
// result's shape. docs/operators/attention.md derives it.
Tensor attention_bounds(const Case& test_case);

}  // namespace assay
