// The reference of matrix products.
#pragma once

#include <cstdint>

namespace assay {

// C = C + A B in float64 for row-major A (m x k), B (k x n) and C (m x n): each element is the
// exact sum, rounded once to nearest even, so that it is the same on every SIMD target, for every
// shape around it and number of threads (0: default_threads()). An exact 0 is -0 where all of its
// terms are, else +0. Elements with NaN or infinity among their operands are those of float64
// arithmetic.
//
// Sums are carried with their rounding errors (Dot2 of Ogita, Rump and Oishi, SIAM J. Sci. Comput.
// 26(6), 2005) and a bound of what that leaves out; where the bound leaves open how the sum is
// rounded, it is computed without rounding (ExactSum).
void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads = 0);

}  // namespace assay
