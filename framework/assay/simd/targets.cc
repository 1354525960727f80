#include "assay/simd/targets.h"

#include <hwy/targets.h>

#include "assay/base/text.h"

namespace assay::inline v0_2::simd {
namespace {

// Returns the compiled targets that this processor supports, best first, even if another target is
// forced.
const std::vector<std::int64_t>& all_targets() {
  static const std::vector<std::int64_t> bits = hwy::SupportedAndGeneratedTargets();
  return bits;
}

}  // namespace

std::string target_name() {
  (void)all_targets();
  const auto bits = hwy::SupportedAndGeneratedTargets();
  return bits.empty() ? "scalar" : hwy::TargetName(bits.front());
}

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const std::int64_t bit : all_targets()) names.emplace_back(hwy::TargetName(bit));
  return names;
}

void force_target(const std::string& name) {
  std::int64_t found = 0;  // 0 is the best
  for (const std::int64_t bit : all_targets()) {
    if (name == hwy::TargetName(bit)) found = bit;
  }
  if (found == 0 && !name.empty()) {
    refuse("this processor cannot run SIMD target '" + name + "'");
  }
  hwy::SetSupportedTargetsForTest(found);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace assay::simd
