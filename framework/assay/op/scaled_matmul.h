// scaled_matmul: a product of small codes and the scales that they share.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// The row of scaled_matmul: a (..., M, K), b (..., K, N) in an 8-bit or any other float format, or
// int8; scale_a, scale_b:
//   out_ij = sum over k of (a_ik scale_a(i, k)) (b_kj scale_b(k, j))
// `a_scaling` and `b_scaling`: tensor (default: rank 0), row (one a row of a, a column of b), or
// blocks RxC of R rows of a (columns of b) by C of K, such as 1x128 for a and 128x128 for b. Scales
// lie as their operand does: those of b (K, N) by 128x128 are (K / 128, N / 128).
//
// On a machine K is cut where a scale changes. Each stretch is summed by the matrix unit from 0,
// its sum P is a float32, and the output, a float32 that starts from 0, takes C = C + P s with s =
// scale_a scale_b rounded to float32: by one multiply-add where `fused` (default: as the machine's
// vector unit does; where it has none, one rounding, as CUDA's compiler contracts it), else by a
// product and a sum. This is block scaling as DeepGEMM does it; scales that do not change along K
// are multiplied last, once, as in an epilogue. `promotion_interval`: every so many terms of a
// stretch are one more (with scales constant along K: are promoted, then scaled once).
// `compute_dtype` (float16, bfloat16, tfloat32, float32): codes are converted to it first, exactly,
// for a machine whose matrix unit does not take them as they are. int8 is summed exactly in int32,
// and refused where K could overflow it.
//
// The golden result: compensated float64 sums of the dequantised operands, element by element.
//
// Tolerance: rtol is half an ulp of the output. atol is the largest of accumulation_bounds() where
// the case's attribute `machine` names one; else that of float32 accumulation in any order,
// n u / (1 - n u) max sum |a scale_a b scale_b| with n = K + the stretches + 2 roundings.
std::vector<Operator> scaled_matmul_operators();

}  // namespace assay
