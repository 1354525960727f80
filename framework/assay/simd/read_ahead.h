// Prefetches memory that kernels will read.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

// The distance in bytes by which memory is prefetched. Processors' own prefetching stops at the end
// of a page, and kernels that compute while they read wait for it. On Xeon and EPYC, 2 to 16 KiB
// gave the same speed.
inline constexpr std::size_t kReadAhead = 8192;

// Prefetches `bytes` bytes from the address p + `ahead` on, which may be beyond the array.
// (hwy::Prefetch does not compile with g++ -O0.)
[[gnu::always_inline]] inline void read_ahead(const void* p, std::size_t bytes,
                                              std::size_t ahead = kReadAhead) {
  constexpr std::size_t kCacheLine = 64;
  const auto from = reinterpret_cast<std::uintptr_t>(p) + ahead;
  for (std::size_t i = 0; i < bytes; i += kCacheLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(from + i));
  }
}

}  // namespace assay::simd
