// The published standards for tests that try each of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/judge/standards.h"
#include "emulated.h"

namespace assay {

// Returns every `step`-th standard, starting with number `first`, which may be any number. Returns
// a quarter of these if tests walk a share.
inline std::vector<std::string> every_standard(std::size_t step = 1, std::size_t first = 0) {
  std::vector<std::string> names;
  const std::size_t by = step * (walks_a_share() ? 4 : 1);
  for (std::size_t i = first % by; i < standards().size(); i += by) {
    names.emplace_back(standards()[i].name);
  }
  return names;
}

}  // namespace assay
