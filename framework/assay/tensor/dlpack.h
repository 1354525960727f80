// Views of DLPack tensors, the exchange format of PyTorch, JAX, TVM, CuPy and others.
//
//   DLManagedTensor* out = ...;       // from <dlpack/dlpack.h>, or from assay::dlpack below
//   EXPECT_THAT(out, CloseTo(reference));
//
// Any struct with DLPack's members will do, so the official header (with `device`: 0.6 and later,
// DLManagedTensorVersioned too) and the definitions below serve alike. A view owns nothing and
// never calls the deleter. Layout and codes: the DLPack specification, version 1.1 (dlpack.h).
#pragma once

#include <concepts>
#include <cstdint>
#include <ostream>

#include "assay/base/error.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::dlpack {

// The device whose memory holds a tensor. This and the following C structs are those of the
// specification, for programs without its header.
struct DLDevice {
  std::int32_t device_type;  // 1: CPU
  std::int32_t device_id;
};
// The type of an element: its TypeCode, its number of bits, and its number of vector lanes.
struct DLDataType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
// A tensor that does not own its memory.
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements, or null if row-major without gaps
  std::uint64_t byte_offset;
};
// A tensor with the function that its user calls to free it. assay never calls this function.
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor* self);
};

// DLDataTypeCode.
enum TypeCode : std::uint8_t {
  kInt = 0,
  kUInt = 1,
  kFloat = 2,
  kBfloat = 4,
  kComplex = 5,
  kBool = 6,
  kFloat8_e4m3fn = 10,
  kFloat8_e4m3fnuz = 11,
  kFloat8_e5m2 = 12,
  kFloat8_e5m2fnuz = 13,
  kFloat8_e8m0fnu = 14,
};

// Returns a view of the tensor. Throws Refusal, which names the obstacle: memory that is not the
// CPU's, a dtype that assay has no format for, vector lanes, or missing data.
TensorView view_of(const DLTensor& tensor);
// Returns the same view of a tensor in any memory. Its `data` is an address of tensor.device.
TensorView layout_of(const DLTensor& tensor);

// Write a tensor's shape for a failure text: "DLPack tensor [2, 3]".
void PrintTo(const DLTensor& tensor, std::ostream* os);
void PrintTo(const DLManagedTensor& tensor, std::ostream* os);

}  // namespace assay::dlpack

namespace assay::inline v0_2 {

template <typename T>
concept DlpackTensor = requires(const T& t) {
  { t.data } -> std::convertible_to<const void*>;
  { t.ndim } -> std::convertible_to<std::int32_t>;
  { t.shape } -> std::convertible_to<const std::int64_t*>;
  { t.strides } -> std::convertible_to<const std::int64_t*>;
  { t.byte_offset } -> std::convertible_to<std::uint64_t>;
  t.device.device_type;
  t.dtype.code;
  t.dtype.bits;
  t.dtype.lanes;
};

namespace dlpack {

// The device types of the CPU and of CUDA.
inline constexpr std::int32_t kCpu = 1, kCuda = 2;

// Returns the tensor as the struct above.
template <DlpackTensor T>
DLTensor tensor_of(const T& t) {
  // One field after the other: nvcc does not compile nested braces here.
  DLTensor copy{};
  copy.data = t.data;
  copy.device.device_type = static_cast<std::int32_t>(t.device.device_type);
  copy.device.device_id = t.device.device_id;
  copy.ndim = t.ndim;
  copy.dtype.code = static_cast<std::uint8_t>(t.dtype.code);
  copy.dtype.bits = t.dtype.bits;
  copy.dtype.lanes = t.dtype.lanes;
  copy.shape = t.shape;
  copy.strides = t.strides;
  copy.byte_offset = t.byte_offset;
  return copy;
}
// Returns the tensor of a DLManagedTensor or DLManagedTensorVersioned.
template <typename T>
requires(DlpackTensor<decltype(T::dl_tensor)>) DLTensor tensor_of(const T& managed) {
  return tensor_of(managed.dl_tensor);
}
// Returns the tensor that a pointer to one of these structs points to.
template <typename T>
requires(DlpackTensor<T> || DlpackTensor<decltype(T::dl_tensor)>) DLTensor tensor_of(T* tensor) {
  if (tensor == nullptr) throw Refusal("a DLPack tensor: the pointer is null");
  return tensor_of(*tensor);
}

}  // namespace dlpack

// A DLPack tensor, a struct that manages one, or a pointer to either.
template <typename T>
concept DlpackSource = requires(const T& t) {
  dlpack::tensor_of(t);
};

// Returns a view of a DLPack tensor in the CPU's memory. assay::cuda::view() (assay/cuda.h) takes
// those of a CUDA device.
template <DlpackSource T>
TensorView view(const T& t) {
  return dlpack::view_of(dlpack::tensor_of(t));
}

}  // namespace assay
