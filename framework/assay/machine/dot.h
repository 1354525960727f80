// The dot engine: matrix products as a machine's matrix unit computes them.
#pragma once

#include <cstdint>

#include "assay/machine/dot_oracle.h"
#include "assay/machine/k_parts.h"
#include "assay/machine/machine.h"

namespace assay {

// C = C + A B for row-major float64 arrays of values of the model's input format. A is M x K, B is
// K x N, and C is M x N in the accumulator's format, which float32 must hold. Every element has the
// bits of dot_oracle (any NaN for NaN), on every SIMD target and number of threads (0:
// default_threads()). With `parts`, K is split as over thread blocks: each part is summed from 0,
// with promotion, and the sums of the parts are added to C as they say.
void dot_matmul(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, const double* b, float* c, int threads = 0,
                const KParts& parts = {});

// n independent sums c[i] = c[i] + a_i . b_i, where a_i and b_i are row i of a and of b, of k
// elements each. Every sum has the bits of dot_oracle (any NaN for NaN).
void dot_rows(const DotModel& model, std::int64_t n, std::int64_t k, const double* a,
              const double* b, double* c);

}  // namespace assay
