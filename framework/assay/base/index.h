#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::inline v0_2 {

// Converts a size or position of a tensor, which is signed here, to the unsigned type of the
// standard containers.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

// Returns at most `most` of the indices 0 to n - 1, spread evenly, in ascending order.
inline std::vector<std::int64_t> spread_indices(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> chosen;
  const std::int64_t count = std::min(n, most);
  for (std::int64_t i = 0; i < count; ++i) chosen.push_back(i * n / count);
  return chosen;
}

}  // namespace assay
