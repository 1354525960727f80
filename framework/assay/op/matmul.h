// matmul: C = A B (+ bias), batches of matrices, either operand transposed.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns the operator matmul: a (..., M, K), b (..., K, N), optional bias (N) -> (..., M, N).
//
// The tolerance assumes float32 accumulation in any order. rtol is half an ulp of the output. atol
// is K 2^-24 max_ij sum_k |a_ik b_kj| (Higham, Accuracy and Stability of Numerical Algorithms, 2nd
// ed., equation 3.5, to first order), with the rounding of the output. Both are zero for integers.
// If the case's attribute `machine` names a machine, atol is the largest of its
// accumulation_bounds(), because accumulators with fewer bits (fp8) need it.
std::vector<Operator> matmul_operators();

}  // namespace assay
