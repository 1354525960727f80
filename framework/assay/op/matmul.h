// matmul: C = A B (+ bias), batches of matrices, either operand transposed.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// The row of matmul: a (..., M, K), b (..., K, N), optional bias (N) -> (..., M, N).
//
// Tolerance, for float32 accumulation in any order: rtol is half an ulp of the output, atol is
// K 2^-24 max_ij sum_k |a_ik b_kj| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
// ed., equation 3.5, to first order), rounded with it. Zero for integers. Where the case's
// attribute `machine` names one, atol is the largest of its accumulation_bounds(): accumulators of
// fewer bits (fp8) need it.
std::vector<Operator> matmul_operators();

}  // namespace assay
