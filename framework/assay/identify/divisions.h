// How K may be divided: what a search tries.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::identify {

// The depths of partial sums: multiples of 16 and equal parts; or all.
std::vector<std::int64_t> likely_intervals(const Sums& sums);
std::vector<std::int64_t> all_intervals(const Sums& sums);
// Other divisions of a product: parts in descending order or pairwise, pieces that are dealt to
// parts, a first part of another size, and of 16-bit outputs sums of parts in their format.
std::vector<KSplit> rare_splits(const Sums& sums);
// To how many parts pieces may be dealt; 0: each is a part.
inline constexpr std::array<std::int64_t, 10> kDealtParts = {0, 2, 3, 4, 5, 6, 7, 8, 12, 16};

}  // namespace assay::identify
