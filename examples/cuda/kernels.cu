#include <cuda_fp16.h>

#include <stdexcept>
#include <string>

#include "kernels.h"

namespace team {
namespace {

constexpr int kTile = 16;      // a block computes kTile x kTile elements of c
constexpr int kThreads = 128;  // of a block, which computes one row of a softmax

void require_started() {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess) {
    throw std::runtime_error(std::string("a kernel cannot be started: ") +
                             cudaGetErrorString(error));
  }
}

__device__ void add_product(float& sum, float a, float b) { sum += a * b; }
__device__ void add_product(__half& sum, float a, float b) {
  sum = __hadd(sum, __float2half(a * b));
}
__device__ float as_float(float x) { return x; }
__device__ float as_float(__half x) { return __half2float(x); }

// Thread (x, y) of a block computes one element of its tile of c. The block goes through k in
// tiles, which lie in shared memory.
template <typename Accumulator, bool kHasTail>
__global__ void gemm_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                            int n, int k) {
  __shared__ float a_tile[kTile][kTile], b_tile[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  const int tiles = kHasTail ? (k + kTile - 1) / kTile : k / kTile;
  Accumulator sum = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    const int a_column = tile * kTile + threadIdx.x, b_row = tile * kTile + threadIdx.y;
    a_tile[threadIdx.y][threadIdx.x] =
        row < m && a_column < k ? __bfloat162float(a[static_cast<long>(row) * k + a_column]) : 0;
    b_tile[threadIdx.y][threadIdx.x] =
        b_row < k && column < n ? __bfloat162float(b[static_cast<long>(b_row) * n + column]) : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      add_product(sum, a_tile[threadIdx.y][i], b_tile[i][threadIdx.x]);
    }
    __syncthreads();
  }
  if (row < m && column < n)
    c[static_cast<long>(row) * n + column] = __float2bfloat16(as_float(sum));
}

template <typename Accumulator, bool kHasTail>
void start_gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                int k, cudaStream_t stream) {
  const dim3 blocks((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), threads(kTile, kTile);
  gemm_kernel<Accumulator, kHasTail><<<blocks, threads, 0, stream>>>(a, b, c, m, n, k);
  require_started();
}

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

// Combines the values of all threads of the block. Every thread gets the result.
template <typename Combine>
__device__ float of_block(float value, const Combine& combine) {
  __shared__ float values[kThreads];
  values[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      values[threadIdx.x] = combine(values[threadIdx.x], values[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const float result = values[0];
  __syncthreads();  // before the next call writes to `values`
  return result;
}

template <bool kSubtractsMaximum>
__global__ void softmax_kernel(const __nv_bfloat16* x, __nv_bfloat16* y, int columns) {
  const long first = static_cast<long>(blockIdx.x) * columns;
  float maximum = 0;
  if (kSubtractsMaximum) {
    float own = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += kThreads) {
      own = fmaxf(own, __bfloat162float(x[first + i]));
    }
    maximum = of_block(own, Largest());
  }
  float own = 0;
  for (int i = threadIdx.x; i < columns; i += kThreads) {
    own += expf(__bfloat162float(x[first + i]) - maximum);
  }
  const float sum = of_block(own, Add());
  for (int i = threadIdx.x; i < columns; i += kThreads) {
    y[first + i] = __float2bfloat16(expf(__bfloat162float(x[first + i]) - maximum) / sum);
  }
}

template <bool kSubtractsMaximum>
void start_softmax(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                   cudaStream_t stream) {
  softmax_kernel<kSubtractsMaximum><<<rows, kThreads, 0, stream>>>(x, y, columns);
  require_started();
}

}  // namespace

void gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k,
          cudaStream_t stream) {
  start_gemm<float, true>(a, b, c, m, n, k, stream);
}
void gemm_without_k_tail(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m,
                         int n, int k, cudaStream_t stream) {
  start_gemm<float, false>(a, b, c, m, n, k, stream);
}
void gemm_in_float16(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n,
                     int k, cudaStream_t stream) {
  start_gemm<__half, true>(a, b, c, m, n, k, stream);
}

void softmax(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns, cudaStream_t stream) {
  start_softmax<true>(x, y, rows, columns, stream);
}
void softmax_without_maximum(const __nv_bfloat16* x, __nv_bfloat16* y, int rows, int columns,
                             cudaStream_t stream) {
  start_softmax<false>(x, y, rows, columns, stream);
}

}  // namespace team
