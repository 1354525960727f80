#include "assay/device/device_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// The first and the last byte, counted from `data`, of the elements of a view that has some.
struct ByteRange {
  std::int64_t first = 0, end = 0;
};
ByteRange bytes_of_elements(const TensorView& v) {
  std::int64_t lowest = 0, highest = 0;
  for (std::size_t d = 0; d < v.shape.size(); ++d) {
    const std::int64_t last = (v.shape[d] - 1) * v.strides[d];
    (last < 0 ? lowest : highest) += last;
  }
  const std::int64_t bytes = v.format->storage_bytes;
  return {lowest * bytes, (highest + 1) * bytes};
}

HostCopy copy_bytes(const DeviceView& tensor, std::int64_t first, std::int64_t end) {
  const auto count = static_cast<std::size_t>(end - first);
  HostCopy copy{std::make_unique_for_overwrite<std::byte[]>(count), tensor.layout};
  tensor.memory->copy_to_host(tensor.device, copy.bytes.get(), tensor.layout.data + first, count,
                              tensor.stream);
  copy.view.data = copy.bytes.get() - first;
  return copy;
}

}  // namespace

std::string DeviceView::place() const { return formatted("{}:{}", memory->kind, device); }

void DeviceView::check() const {
  if (layout.format == nullptr) refuse("{}: a view without data has no values to compare", name);
  if (layout.size() == 0) return;
  const ByteRange range = bytes_of_elements(layout);
  const auto align = static_cast<std::uintptr_t>(part_format(*layout.format).storage_bytes);
  if (reinterpret_cast<std::uintptr_t>(layout.data) % align != 0) {
    refuse("{}: its address is not a multiple of {}, the size of a {}; make a contiguous copy",
           name, align, part_format(*layout.format).name);
  }
  memory->check(device, layout.data + range.first,
                static_cast<std::size_t>(range.end - range.first), name);
}

HostCopy copy_to_host(const DeviceView& tensor) {
  if (tensor.layout.size() == 0) return {nullptr, tensor.layout};
  const ByteRange range = bytes_of_elements(tensor.layout);
  return copy_bytes(tensor, range.first, range.end);
}

HostCopy copy_to_host(const DeviceView& tensor, std::int64_t first, std::int64_t count) {
  const std::int64_t bytes = tensor.layout.format->storage_bytes;
  HostCopy copy = copy_bytes(tensor, first * bytes, (first + count) * bytes);
  copy.view = view_bytes(copy.bytes.get(), *tensor.layout.format, {count});
  return copy;
}

const TensorView& layout_of(const AnyView& tensor) {
  const auto* const device = std::get_if<DeviceView>(&tensor);
  return device != nullptr ? device->layout : std::get<TensorView>(tensor);
}

AnyView named(AnyView tensor, std::string name) {
  if (auto* const device = std::get_if<DeviceView>(&tensor)) device->name = std::move(name);
  return tensor;
}

TensorView HostCopies::add(const AnyView& tensor, std::string name) {
  if (const auto* const host = std::get_if<TensorView>(&tensor)) return *host;
  DeviceView from = std::get<DeviceView>(tensor);
  from.name = std::move(name);
  from.check();
  // A tensor that is compared with itself is recognized by its address, so it has one copy.
  const auto is_same = [&](const Copied& other) {
    return other.from.memory == from.memory && other.from.device == from.device &&
           other.from.layout.data == from.layout.data &&
           other.from.layout.format == from.layout.format &&
           other.from.layout.shape == from.layout.shape &&
           other.from.layout.strides == from.layout.strides;
  };
  const auto known = std::ranges::find_if(copies_, is_same);
  HostCopy to = known != copies_.end() ? HostCopy{nullptr, known->to.view} : copy_to_host(from);
  copies_.push_back({std::move(from), std::move(to)});
  return copies_.back().to.view;
}

std::string HostCopies::note(std::string_view because) const {
  if (copies_.empty()) return "";
  std::string names;
  std::vector<std::string> places;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    if (i > 0) names += i + 1 == copies_.size() ? " and " : ", ";
    names += copies_[i].from.name;
    std::string place = copies_[i].from.place();
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  return formatted("judged on the host, to which {} {} copied from {}: {}", names,
                   copies_.size() == 1 ? "was" : "were", joined(places, " and "), because);
}

DeviceArray::DeviceArray(const DeviceView& beside, std::size_t bytes, bool zeros)
    : memory_(*beside.memory),
      device_(beside.device),
      stream_(beside.stream),
      data_(memory_.allocate(device_, bytes, stream_)) {
  if (zeros) memory_.fill_with_zeros(device_, data_, bytes, stream_);
}
DeviceArray::~DeviceArray() { memory_.release(device_, data_, stream_); }

const DeviceMemory& host_memory() {
  static const DeviceMemory host{
      .kind = "host",
      .check =
          [](int, const void* memory, std::size_t, const std::string& what) {
            if (memory == nullptr) refuse("{}: the pointer is null", what);
          },
      .allocate =
          [](int, std::size_t bytes, void*) {
            void* const memory = std::malloc(std::max<std::size_t>(bytes, 1));
            if (memory == nullptr) throw std::bad_alloc();
            return memory;
          },
      .release = [](int, void* memory, void*) noexcept { std::free(memory); },
      .fill_with_zeros = [](int, void* memory, std::size_t bytes,
                            void*) { std::memset(memory, 0, bytes); },
      .synchronise = [](int, void*) {},
      .copy_to_host = [](int, void* to, const void* memory, std::size_t bytes,
                         void*) { std::memcpy(to, memory, bytes); },
      .load = [](int, const DeviceKernel& kernel) -> const void* {
        static std::mutex mutex;
        static std::map<std::pair<std::string, std::string>, DeviceKernel> kernels;
        const std::lock_guard lock(mutex);
        return &kernels.emplace(std::pair(kernel.source, kernel.name), kernel).first->second;
      },
      .launch =
          [](int, const void* loaded, std::uint64_t blocks, std::uint32_t threads, const void* call,
             void*) {
            const auto& kernel = *static_cast<const DeviceKernel*>(loaded);
            parallel_for(static_cast<std::int64_t>(blocks), 0, [&](std::int64_t block) {
              for (std::uint32_t thread = 0; thread < threads; ++thread) {
                kernel.on_host(kernel.spec.get(), call, static_cast<std::uint64_t>(block), thread,
                               threads);
              }
            });
          }};
  return host;
}

}  // namespace assay
