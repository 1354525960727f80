// attention: softmax(scale q k^T) v, plain or by tiles of keys.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// The row of attention: q (..., L, D), k (..., S, D), v (..., S, E) of one float dtype and the same
// batch dimensions -> (..., L, E). `scale` (default 1 / sqrt(D)); `causal`: query i sees keys 0 to
// i, or to positions[i] where the case has these integers (..., L) or (L); `tile`: keys are taken
// so many at a time with a running maximum and sum (Dao et al., FlashAttention, 2022), 0 (default):
// all at once. `order` and `block_size` are those of the sums of a row (of a tile).
//
// A machine takes both products on its matrix unit, with float32 results, and everything between on
// its vector unit in float32; the weights go into the second product in the operands' dtype. Golden
// results: exact sums of products, rounded once to float64, and the softmax in twice its precision.
// docs/operators/attention.md lists the steps.
//
// Tolerance, and the bound of each element: what the rounding of every step may add up to, with
// float32 accumulation in any order; without overflow, and for the elements without the conversion
// to the output's format. docs/operators/attention.md derives it. A row that a NaN or
// infinity makes NaN, or of which roundings leave no digit, costs only its own elements their
// bound. A key that a causal query does not see has no influence, whatever it holds.
std::vector<Operator> attention_operators();

}  // namespace assay
