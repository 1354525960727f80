// A matrix product and a softmax of bfloat16 in CUDA C++, and variants of them with common
// mistakes. All pointers are addresses of the device's memory, and matrices are row-major without
// gaps.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime_api.h>

namespace team {

// A kernel of a matrix product: c (m x n) = a (m x k) b (k x n).
using Gemm = void(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                  int k, cudaStream_t stream);
// Sums in float32 and rounds once.
Gemm gemm;
// Wrong: leaves out the last terms if k is not a multiple of the tile.
Gemm gemm_without_k_tail;
// Wrong: sums in float16, which has 11 bits.
Gemm gemm_in_float16;

// A kernel of a softmax over the columns of x, which is rows x columns.
using Softmax = void(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                     cudaStream_t stream);
Softmax softmax;
// Wrong: does not subtract the maximum of a row, so that exp() overflows.
Softmax softmax_without_maximum;

}  // namespace team
