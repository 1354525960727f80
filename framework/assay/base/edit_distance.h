// The edit distance of two words.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay::inline v0_2 {

// Returns the number of characters that must be inserted, deleted, replaced or exchanged with their
// neighbour to turn one word into the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace assay
