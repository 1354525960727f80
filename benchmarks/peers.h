// The reference implementations with which our speed is compared.
#pragma once

#include <cstddef>

namespace assay_bench {

// Computes the sum of an array at the speed of memory.
double plain_sum(const float* values, std::size_t n);
double plain_sum(const double* values, std::size_t n);
double plain_sum_bf16(const unsigned short* values, std::size_t n);

}  // namespace assay_bench
