// The operators of the vector unit in plain float32 Eigen.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay_bench {

// Of rows x columns values, row-major; to holds the result. Throws std::invalid_argument for an
// operator that is not there.
void eigen_operator(const std::string& op, std::ptrdiff_t rows, std::ptrdiff_t columns,
                    const float* a, const float* b, const float* c, float* to);
// float32 to bfloat16 and to float16.
void eigen_cast(bool half, std::ptrdiff_t n, const float* from, unsigned short* to);

}  // namespace assay_bench
