// The dot engine: it computes matrix products as a machine's matrix unit does, with the same bits.
#pragma once

#include <cstdint>

#include "assay/machine/dot_oracle.h"
#include "assay/machine/k_parts.h"
#include "assay/machine/machine.h"

namespace assay::inline v0_2 {

// Computes C = C + A B for row-major float64 arrays A and B of values of the model's input format.
// A is M x K, B is K x N, and C is M x N, with values of the accumulator's format, all of which
// float32 must hold. Every element has the same bits as dot_oracle (any NaN for NaN), for every
// SIMD target and number of threads (0 means default_threads()). With `parts`, K is split like over
// thread blocks. Each part is summed from 0, with promotion. The sums of the parts are added to C
// in the order and formats that `parts` gives.
void dot_matmul(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                const double* a, const double* b, float* c, int threads = 0,
                const KParts& parts = {});

// Computes n independent sums c[i] = c[i] + a_i . b_i, where a_i and b_i are row i of a and of b,
// of k elements each. Every sum has the same bits as dot_oracle (any NaN for NaN).
void dot_rows(const DotModel& model, std::int64_t n, std::int64_t k, const double* a,
              const double* b, double* c);

}  // namespace assay
