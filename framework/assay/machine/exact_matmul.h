// The reference of matrix products.
#pragma once

#include <cstdint>

namespace assay {

// C = C + A B in float64 for row-major A (m x k), B (k x n) and C (m x n), where the rounding
// errors of every product and sum are carried along, so that the result is as if it were computed
// with twice the precision and rounded once (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26(6),
// 2005, Dot2). Where the operands' bits show that float64, or a pair of them, holds every partial
// sum, products are added by register tiles to the same result. NaN and infinity are those of
// float64 arithmetic. The same bits on every SIMD target and number of threads (0:
// default_threads()).
void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads = 0);

}  // namespace assay
