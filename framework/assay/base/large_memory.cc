#include "assay/base/large_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace assay {

void prefer_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kHuge = 2 << 20;
  constexpr std::size_t kLarge = 4 * kHuge;
  if (bytes < kLarge) return;
  // Only whole pages, because the memory beside them is not ours.
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kHuge * kHuge;
  // This is only advice: a system that does not follow it uses small pages.
  auto* const first = reinterpret_cast<void*>(begin);  // NOLINT: whole pages are numbers
  (void)madvise(first, end - begin, MADV_HUGEPAGE);
}

}  // namespace assay
