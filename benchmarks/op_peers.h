// Implementations in plain float32 Eigen of the operators of the vector unit.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay_bench {

// Applies an operator to an array of rows x columns values in row-major order. `to` receives the
// result. Throws std::invalid_argument if the operator is not known.
void eigen_operator(const std::string& op, std::ptrdiff_t rows, std::ptrdiff_t columns,
                    const float* a, const float* b, const float* c, float* to);
// Quantizes blocks of 1 x 128. The scale maps the largest value of a block to 448. The codes stay
// float32.
void eigen_quantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* x, float* codes,
                    float* scales);
void eigen_dequantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* codes,
                      const float* scales, float* to);
// Computes the m x k by k x n product of codes with scales of 1 x 128 and 128 x 128, block by block
// along k.
void eigen_scaled_product(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const float* a,
                          const float* b, const float* scale_a, const float* scale_b, float* to);
// Computes for each i c[i] plus the dot product of row i of a and row i of b.
void eigen_dots(std::ptrdiff_t n, std::ptrdiff_t k, const float* a, const float* b, const float* c,
                float* to);
// Pools one image of channels x height x width. Each of the `rois` regions has 5 numbers in `boxes`
// and is divided into bins x bins bins, of samples x samples samples each.
void eigen_deform_roi_pool(std::ptrdiff_t channels, std::ptrdiff_t height, std::ptrdiff_t width,
                           std::ptrdiff_t rois, std::ptrdiff_t bins, std::ptrdiff_t samples,
                           const float* image, const float* boxes, float* to);
// Casts float32 to float16 if `half` is true, and to bfloat16 otherwise.
void eigen_cast(bool half, std::ptrdiff_t n, const float* from, unsigned short* to);

}  // namespace assay_bench
