#include "assay/base/large_memory.h"

#include <sys/mman.h>

#include <cstdint>

namespace assay::inline v0_2 {

void prefer_huge_pages(void* memory, std::size_t bytes) {
  constexpr std::uintptr_t kHuge = 2 << 20;
  constexpr std::size_t kLarge = 4 * kHuge;
  if (bytes < kLarge) return;
  // Advises only on whole pages, because memory beside the block may belong to others.
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kHuge - 1) / kHuge * kHuge;
  const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / kHuge * kHuge;
  // madvise() only advises. A system that does not follow the advice uses small pages.
  auto* const first = reinterpret_cast<void*>(begin);  // NOLINT: whole pages are numbers
  (void)madvise(first, end - begin, MADV_HUGEPAGE);
}

}  // namespace assay
