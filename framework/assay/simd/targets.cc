#include "assay/simd/targets.h"

#include <hwy/targets.h>

#include <stdexcept>

namespace assay::simd {
namespace {

// The targets compiled in that this processor supports, best first.
std::vector<std::int64_t> target_bits() { return hwy::SupportedAndGeneratedTargets(); }

}  // namespace

std::string target_name() {
  const auto bits = target_bits();
  return bits.empty() ? "scalar" : hwy::TargetName(bits.front());
}

std::vector<std::string> available_targets() {
  std::vector<std::string> names;
  for (const std::int64_t bit : target_bits()) names.emplace_back(hwy::TargetName(bit));
  return names;
}

void force_target(const std::string& name) {
  hwy::SetSupportedTargetsForTest(0);
  if (!name.empty()) {
    std::int64_t found = 0;
    for (const std::int64_t bit : target_bits()) {
      if (name == hwy::TargetName(bit)) found = bit;
    }
    if (found == 0) {
      throw std::invalid_argument("this processor cannot run SIMD target '" + name + "'");
    }
    hwy::SetSupportedTargetsForTest(found);
  }
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace assay::simd
