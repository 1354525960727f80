// Memory for large arrays. The system provides it in pages when they are first touched. With pages
// of 4 KiB, that takes longer than a kernel takes to fill them.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace assay::inline v0_2 {

// Requests huge pages if the host has them. Call it before the memory is first touched. It changes
// nothing for small blocks, and on hosts without huge pages.
void prefer_huge_pages(void* memory, std::size_t bytes);

// Returns a vector of `count` copies of `value`.
template <typename T>
std::vector<T> large_vector(std::size_t count, const T& value = T{}) {
  std::vector<T> all;
  all.reserve(count);
  prefer_huge_pages(all.data(), count * sizeof(T));
  all.resize(count, value);
  return all;
}

// Allocates memory whose elements are not initialised. If several threads fill it, they also share
// the cost of getting the pages.
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

// An array whose elements are not initialised: those of LargeArray<double>(count) have arbitrary
// values.
template <typename T>
using LargeArray = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace assay
