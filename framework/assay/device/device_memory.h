// The functions that a device offers, as a table. A back end fills one in: assay::cuda for NVIDIA's
// devices, host_memory() for tests. Nothing in this room knows a vendor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// A kernel as a text for a compiler at run time, and as a function of the host.
struct DeviceKernel {
  // C++ of the device.
  std::string source;
  std::string name;  // the kernel in the text. It takes the call as one struct, by value
  // Does on the host what the thread of the block does. `call` points to the struct.
  void (*on_host)(const void* spec, const void* call, std::uint64_t block, std::uint32_t thread,
                  std::uint32_t threads) = nullptr;
  std::shared_ptr<const void> spec = nullptr;  // given to on_host
};

// The functions of a kind of device. `device` is the device's number, and `stream` one of its
// queues of work in which a call takes its turn; null is the device's usual one. Functions throw
// std::runtime_error, which names the device and says what failed.
struct DeviceMemory {
  std::string kind;  // "cuda"
  // Throws Refusal, which begins with `what`, if the bytes are not memory of the device.
  void (*check)(int device, const void* memory, std::size_t bytes, const std::string& what);
  // Return and take back memory for work that is put into the stream from now on.
  void* (*allocate)(int device, std::size_t bytes, void* stream);
  void (*release)(int device, void* memory, void* stream) noexcept;
  void (*fill_with_zeros)(int device, void* memory, std::size_t bytes, void* stream);
  // Waits until all work in the stream is done.
  void (*synchronise)(int device, void* stream);
  // Copies after all work before it in the stream, and waits.
  void (*copy_to_host)(int device, void* host, const void* memory, std::size_t bytes, void* stream);
  // Returns a kernel for launch(), which stays loaded. Equal kernels are compiled once.
  const void* (*load)(int device, const DeviceKernel& kernel);
  // Starts a kernel. `call` is copied.
  void (*launch)(int device, const void* kernel, std::uint64_t blocks, std::uint32_t threads,
                 const void* call, void* stream);
};

// A view of a tensor in a device's memory.
struct DeviceView {
  const DeviceMemory* memory = nullptr;
  int device = 0;
  void* stream = nullptr;
  TensorView layout = {};  // its `data` is an address of the device
  std::string name = {};   // in messages: "actual", "the output"

  std::string place() const;  // "cuda:0"
  // Throws Refusal, which names the tensor, if its elements are not in the device's memory.
  void check() const;
};

// Returns the argument, so that generic code may call view() on any tensor.
inline DeviceView view(const DeviceView& v) { return v; }

// A tensor in the memory of the host or of a device.
using AnyView = std::variant<TensorView, DeviceView>;
// Returns the tensor's format, shape and strides. `data` is an address of the memory that holds it.
const TensorView& layout_of(const AnyView& tensor);
// Returns a tensor with another name, if it is a device's. A tensor of the host has no name.
AnyView named(AnyView tensor, std::string name);

// A copy of a device's tensor in the memory of the host, with the same strides.
struct HostCopy {
  std::unique_ptr<std::byte[]> bytes;
  TensorView view;
};
HostCopy copy_to_host(const DeviceView& tensor);
// Copies `count` elements of a contiguous tensor from element `first` on, as a view of rank 1.
HostCopy copy_to_host(const DeviceView& tensor, std::int64_t first, std::int64_t count);

// The tensors of a check that only the host makes. Those of devices are copied, and the copies live
// as long as this object.
class HostCopies {
 public:
  // Returns the tensor as a view of the host's memory. `name` is what messages and the note call a
  // tensor of a device. Equal views of one memory are copied once. Throws Refusal, which begins
  // with the name, if the tensor is not in its device's memory.
  TensorView add(const AnyView& tensor, std::string name);
  // Returns the note for the verdict, which says what was copied from where, and why. Returns an
  // empty string if nothing was copied. `because` is the reason, such as "checksums are computed
  // there".
  std::string note(std::string_view because) const;

 private:
  struct Copied {
    DeviceView from;
    HostCopy to;
  };
  std::deque<Copied> copies_;
};

// Memory of a device, filled with zeros unless `zeros` is false.
class DeviceArray {
 public:
  DeviceArray(const DeviceView& beside, std::size_t bytes, bool zeros = true);
  ~DeviceArray();
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  void* data() const { return data_; }

 private:
  const DeviceMemory& memory_;
  int device_;
  void* stream_;
  void* data_;
};

// The host as a device: its kernels run on the host, in blocks and threads like those of a device.
// Tests use it to judge by the code of the kernels without a device.
const DeviceMemory& host_memory();

}  // namespace assay
