// Memory of large arrays. The system hands it out in pages as they are first touched, which for
// pages of 4 KiB takes longer than a kernel takes to fill them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay {

// Asks for huge pages where the host has them, before the memory is first touched. Small blocks,
// and hosts that give none, are left as they are.
void prefer_huge_pages(void* memory, std::size_t bytes);

// `count` times `value`.
template <typename T>
std::vector<T> large_vector(std::size_t count, const T& value = T{}) {
  std::vector<T> all;
  all.reserve(count);
  prefer_huge_pages(all.data(), count * sizeof(T));
  all.resize(count, value);
  return all;
}

// Memory whose elements are not initialised: those who fill it by several threads also share what
// it costs to have the pages.
template <typename T>
struct UninitialisedAllocator {
  static_assert(std::is_trivially_default_constructible_v<T>);
  using value_type = T;

  UninitialisedAllocator() = default;
  template <typename U>
  UninitialisedAllocator(const UninitialisedAllocator<U>&) {}  // NOLINT: as allocators do
  T* allocate(std::size_t count) {
    T* const memory = std::allocator<T>().allocate(count);
    prefer_huge_pages(memory, count * sizeof(T));
    return memory;
  }
  void deallocate(T* memory, std::size_t count) { std::allocator<T>().deallocate(memory, count); }
  void construct(T* /*element*/) {}
  template <typename... Arguments>
  void construct(T* element, Arguments&&... arguments) {
    std::construct_at(element, std::forward<Arguments>(arguments)...);
  }
  bool operator==(const UninitialisedAllocator&) const = default;
};

// LargeArray<double>(count) holds what the memory held.
template <typename T>
using LargeArray = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace assay
