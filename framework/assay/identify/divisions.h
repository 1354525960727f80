// The divisions of K that a search tries.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "assay/identify/sums.h"

namespace assay::inline v0_2::identify {

// Return the lengths, in terms, that parts of K may have. likely_intervals() returns multiples of
// 16, equal parts, and small powers of two. all_intervals() returns all lengths. 0 stands for an
// undivided K.
std::vector<std::int64_t> likely_intervals(const Sums& sums);
std::vector<std::int64_t> all_intervals(const Sums& sums);
// Returns less usual divisions of K: parts in descending order or pairwise, pieces that are dealt
// to parts, and a first part of another size. For 16-bit outputs, it also returns divisions whose
// parts are summed in the output's format.
std::vector<KSplit> rare_splits(const Sums& sums);
// The numbers of parts to which pieces may be dealt. 0 means that each piece is a part.
inline constexpr std::array<std::int64_t, 10> kDealtParts = {0, 2, 3, 4, 5, 6, 7, 8, 12, 16};

}  // namespace assay::identify
