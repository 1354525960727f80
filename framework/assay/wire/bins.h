// The counts of a histogram as text: "bin:count bin:count", without bins that are empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::inline v0_2::wire {

using Bins = std::vector<std::pair<int, std::int64_t>>;

std::string bins_text(const Bins& bins);
// Reads the text of bins_text(). Returns nothing if it does not have bins with counts of at least
// 0.
std::optional<Bins> read_bins(std::string_view text);

}  // namespace assay::wire
