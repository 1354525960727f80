// The dot engine: matrix products as a machine's matrix unit computes them.
#pragma once

#include <cstdint>

#include "assay/machine/machine.h"

namespace assay {

// Scalar oracle: c + sum over k < n of a[k * a_stride] * b[k * b_stride] by the model, every sum in
// integers. Values must be representable in the model's input format, c in its accumulator (in
// float32 where partial sums are promoted). NaN in, infinity times zero, or infinities of both
// signs give NaN; otherwise an infinite term gives infinity. A sum that is exactly zero is +0,
// unless every term is -0 (of aligned terms: always +0).
double dot_oracle(const DotModel& model, std::int64_t n, const double* a, std::int64_t a_stride,
                  const double* b, std::int64_t b_stride, double c);

// The same without promotion of partial sums.
double dot_part_oracle(const DotModel& model, std::int64_t n, const double* a,
                       std::int64_t a_stride, const double* b, std::int64_t b_stride, double c);

// C = C + A B for row-major float64 arrays that hold values of the model's input format; A is
// M x K, B is K x N, C is M x N in the accumulator's format, which float32 must hold. The same bits
// as dot_oracle (any NaN for NaN) for every element, on every SIMD target and number of threads
// (0: default_threads()). K split over thread blocks, `split_k` terms each (0, or K and more: one
// block): each block sums from 0, promotion included, and the blocks' sums are added to C in
// ascending order in float32.
void dot_matmul(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, const double* b, float* c, int threads = 0,
                std::int64_t split_k = 0);

// n independent sums, c[i] = c[i] + a_i . b_i of rows of k: dot_oracle of each, the same bits (any
// NaN for NaN).
void dot_rows(const DotModel& model, std::int64_t n, std::int64_t k, const double* a,
              const double* b, double* c);

// The reference: C = C + A B in float64 with the rounding errors of every product and sum carried
// along (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26(6), 2005, Dot2): as if computed with twice
// the precision and rounded once. NaN and infinity as float64 arithmetic gives them.
void exact_matmul(std::int64_t m, std::int64_t n, std::int64_t k, const double* a, const double* b,
                  double* c, int threads = 0);

}  // namespace assay
