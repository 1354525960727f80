// Formats of CUDA's number types: __half, __nv_bfloat16, and __nv_fp8_e4m3 and __nv_fp8_e5m2 of
// CUDA 11.8 and later. Only programs that include this header need CUDA. The elements lie in memory
// that the CPU can read.
//
//   std::vector<__nv_bfloat16> y = ...;                 // copied from the device
//   EXPECT_THAT(view(y, {64, 512}), CloseTo(reference));
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#if __has_include(<cuda_fp8.h>)
#include <cuda_fp8.h>
#endif

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

ASSAY_FORMAT_OF(__half, "float16")
ASSAY_FORMAT_OF(__nv_bfloat16, "bfloat16")
#if __has_include(<cuda_fp8.h>)
ASSAY_FORMAT_OF(__nv_fp8_e4m3, "float8_e4m3fn")
ASSAY_FORMAT_OF(__nv_fp8_e5m2, "float8_e5m2")
#endif

}  // namespace assay
