// The exactly rounded matrix product that golden results are computed with.
#pragma once

#include <cstdint>

namespace assay::inline v0_2 {

// Computes C = C + A B in float64 for row-major A (m x k), B (k x n) and C (m x n). Each element is
// the exact sum, rounded once to nearest even. So it is the same for every SIMD target, shape of
// the product and number of threads (0 means default_threads()). An exact 0 is -0 if all of its
// terms are -0, and +0 if not. Elements with NaN or infinity among their operands are those of
// float64 arithmetic.
//
// Sums are computed together with their rounding errors (Dot2 of Ogita, Rump and Oishi, SIAM J.
// Sci. Comput. 26(6), 2005) and a bound of what these leave out. If the bound does not decide how a
// sum is rounded, the sum is computed without rounding (ExactSum).
void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads = 0);

}  // namespace assay
