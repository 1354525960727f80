// scaled_matmul: a product of small codes with the scales that they share.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator scaled_matmul: a (..., M, K), b (..., K, N) in an 8-bit or any other float
// format, or int8; scale_a, scale_b:
//   out_ij = sum over k of (a_ik scale_a(i, k)) (b_kj scale_b(k, j))
// `a_scaling` and `b_scaling` are tensor (default: rank 0), row (one for each row of a, or column
// of b), or blocks RxC of R rows of a (columns of b) by C of K, such as 1x128 for a and 128x128 for
// b. Scales have the same layout as their operand: those of b (K, N) by 128x128 are (K / 128, N /
// 128).
//
// On a machine K is cut where a scale changes. The matrix unit sums each stretch from 0 to a
// float32 P. The output, a float32 that starts from 0, becomes C = C + P s, with s = scale_a
// scale_b rounded to float32 (the default of `scale_order`). This is one multiply-add if `fused` is
// set, and a product and a sum otherwise. The default of `fused` is the behaviour of the machine's
// vector unit; without such a unit it is one rounding, as CUDA's compiler contracts it. This is
// block scaling as in DeepGEMM. Scales that do not change along K are multiplied last, once, as in
// an epilogue.
//
// - `promotion_interval`: a stretch also ends after this number of terms. If scales are constant
//   along K, the partial sums are promoted instead, and scaled once.
// - `compute_dtype` (float16, bfloat16, tfloat32, float32): codes are first converted to it,
//   exactly, for a machine whose matrix unit does not take them directly.
//
// int8 is summed exactly in int32, and refused if K could overflow it.
//
// The golden result is the exact sum of the dequantised operands' products, rounded once.
//
// Tolerance: rtol is half an ulp of the output. If the case's attribute `machine` names a machine,
// atol is the largest of accumulation_bounds(). Otherwise it assumes float32 accumulation in any
// order: n u / (1 - n u) max sum |a scale_a b scale_b| with n = K + the stretches + 2 roundings.
std::vector<Operator> scaled_matmul_operators();

}  // namespace assay
