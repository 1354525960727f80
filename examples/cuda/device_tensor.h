// A tensor in memory of the device that ends with the object, for tests.
#pragma once

#include <assay/cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace team {

inline void require(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

class DeviceTensor {
 public:
  // Makes a tensor whose elements are all NaN, so that an element that a kernel does not write is
  // found.
  DeviceTensor(std::string_view dtype, assay::Shape shape) : dtype_(dtype), shape_(shape) {
    const assay::Tensor like(assay::format_named(dtype), shape);
    require(cudaMalloc(&data_, like.byte_count()));
    require(cudaMemset(data_, 0xff, like.byte_count()));
  }
  // Copies a tensor of the host to the device.
  explicit DeviceTensor(const assay::Tensor& host)
      : DeviceTensor(host.format().name, host.shape()) {
    require(cudaMemcpy(data_, host.bytes(), host.byte_count(), cudaMemcpyHostToDevice));
  }
  ~DeviceTensor() { cudaFree(data_); }
  DeviceTensor(const DeviceTensor&) = delete;
  DeviceTensor& operator=(const DeviceTensor&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  // The view that matchers take.
  assay::DeviceView view() const { return assay::cuda::view(data_, dtype_, shape_); }

 private:
  std::string dtype_;
  assay::Shape shape_;
  void* data_ = nullptr;
};

}  // namespace team
