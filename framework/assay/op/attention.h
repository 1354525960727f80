// attention: softmax(scale q k^T) v, plain or by tiles of keys.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator attention: q (..., L, D), k (..., S, D), v (..., S, E), all of one float
// dtype and with the same batch dimensions -> (..., L, E). Its parameters are:
// - `scale`: 1 / sqrt(D) by default.
// - `causal`: query i sees keys 0 to i, or keys 0 to positions[i] if the case has an integer input
//   positions of shape (..., L) or (L).
// - `tile`: takes this number of keys at a time, with a running maximum and sum (Dao et al.,
//   FlashAttention, 2022). 0, the default, takes all keys at once.
// - `order` and `block_size`: how the weights of a row (of a tile) are summed.
//
// A machine computes both products on its matrix unit, with float32 results, and all other steps on
// its vector unit in float32. The weights enter the second product in the operands' dtype. For
// golden results the sums of products are exact and are rounded once to float64, and the softmax is
// computed in twice that precision. docs/operators/attention.md lists the steps.
//
// The tolerance and the bound of each element are the largest error that the roundings of all steps
// can add up to, with float32 accumulation in any order and without overflow. The bounds of
// elements leave out the conversion to the output's format. docs/operators/attention.md derives
// both. If a NaN or an infinity makes a row NaN, or if roundings leave no digit of a row, only the
// elements of that row have no bound. A key that a causal query does not see has no influence,
// whatever it holds.
std::vector<Operator> attention_operators();

}  // namespace assay
