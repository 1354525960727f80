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
// Blocks of 1 x 128 over the largest of them, as 448 units of it; the codes stay float32.
void eigen_quantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* x, float* codes,
                    float* scales);
void eigen_dequantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* codes,
                      const float* scales, float* to);
// The m x k by k x n product of codes with scales of 1 x 128 and 128 x 128, stretch by stretch.
void eigen_scaled_product(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const float* a,
                          const float* b, const float* scale_a, const float* scale_b, float* to);
// c + the dot product of row i of a and of b.
void eigen_dots(std::ptrdiff_t n, std::ptrdiff_t k, const float* a, const float* b, const float* c,
                float* to);
// One image of channels x height x width, rois of 5 numbers, bins x bins bins of samples x samples.
void eigen_deform_roi_pool(std::ptrdiff_t channels, std::ptrdiff_t height, std::ptrdiff_t width,
                           std::ptrdiff_t rois, std::ptrdiff_t bins, std::ptrdiff_t samples,
                           const float* image, const float* boxes, float* to);
// float32 to bfloat16 and to float16.
void eigen_cast(bool half, std::ptrdiff_t n, const float* from, unsigned short* to);

}  // namespace assay_bench
