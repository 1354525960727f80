// The published standards for tests that try each of them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "assay/judge/standards.h"
#include "emulated.h"

namespace assay {

// Returns every `step`-th published standard, beginning with number `first` modulo `step`, counted
// from 0. If walks_a_share(), returns about a quarter of these.
inline std::vector<std::string> every_standard(std::size_t step = 1, std::size_t first = 0) {
  std::vector<std::string> names;
  const std::size_t by = step * (walks_a_share() ? 4 : 1);
  for (std::size_t i = first % by; i < standards().size(); i += by) {
    names.emplace_back(standards()[i].name);
  }
  return names;
}

}  // namespace assay
