// Memory of large arrays. The system hands it out in pages as they are first touched, which for
// pages of 4 KiB takes longer than a kernel takes to fill them.
#pragma once

#include <cstddef>
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

}  // namespace assay
