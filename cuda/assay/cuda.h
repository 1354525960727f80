// Judges tensors in the memory of NVIDIA's devices where they lie.
//
//   auto y = assay::cuda::view(y_pointer, "bfloat16", {8192, 8192});
//   auto golden = assay::cuda::view(golden_pointer, "float32", {8192, 8192});
//   assay::GateRequest request;
//   request.metrics = false;  // the host computes metrics
//   EXPECT_EQ(assay::gate_tensors(y, golden, request)[0].outcome, assay::Outcome::kPass);
//
// Building needs nothing of CUDA. A program that calls view() needs NVIDIA's driver and, for the
// kernels, NVRTC of CUDA 12 or later (libnvrtc, which the CUDA toolkit and PyTorch have). Both are
// loaded at the first call.
#pragma once

#include <string_view>

#include "assay/device/device_judge.h"
#include "assay/tensor/dlpack.h"

namespace assay::inline v0_2::cuda {

// The functions of NVIDIA's devices. Throws std::runtime_error if the driver is missing or has no
// device.
const DeviceMemory& memory();

// Returns a view of memory of the device that the pointer belongs to. `dtype` is a name of
// format_named(). Strides are in elements; without strides, the view is row-major without gaps.
// `stream` is a CUstream or cudaStream_t of that device: what was put into it before is done before
// the tensor is read. Null is the default stream. Throws Refusal if the pointer is not memory of a
// device, and std::runtime_error as memory() does.
DeviceView view(const void* data, std::string_view dtype, Shape shape, Strides strides = {},
                void* stream = nullptr);

// Returns a view of a DLPack tensor of CUDA (device type 2), which owns nothing. Throws Refusal,
// which names the obstacle: another device type, memory that is not that device's, a dtype that
// assay has no format for, vector lanes, or missing data. Throws std::runtime_error as memory()
// does.
DeviceView view(const dlpack::DLTensor& tensor, void* stream = nullptr);
// The same for any struct with DLPack's members, such as a DLManagedTensor, and for a pointer to
// one.
template <DlpackSource T>
DeviceView view(const T& tensor, void* stream = nullptr) {
  return view(dlpack::tensor_of(tensor), stream);
}

}  // namespace assay::cuda
