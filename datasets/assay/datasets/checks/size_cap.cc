#include "assay/datasets/checks/size_cap.h"

#include <algorithm>
#include <cstdlib>

#include "assay/base/call_text.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {

std::int64_t dataset_size_cap() {
  constexpr std::int64_t kDefault = 8, kMost = std::int64_t{1} << 30;
  const char* text = std::getenv("ASSAY_MAX_DATASET_GIB");
  if (text == nullptr) return kDefault << 30;
  const std::optional<std::int64_t> asked = read_number<std::int64_t>(text);
  if (!asked || *asked < 1) {
    refuse("ASSAY_MAX_DATASET_GIB must be a whole number of GiB of at least 1, not '{}'", text);
  }
  return std::min(*asked, kMost) << 30;
}

double most_declared(std::uint64_t file_size) {
  constexpr double kMostPerByte = 1100, kFree = 0x1p28;
  return std::max(kFree, kMostPerByte * static_cast<double>(file_size));
}

}  // namespace assay
