// How near two words are.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay {

// How many characters have to be put in, left out, replaced or exchanged with their neighbour to
// make one word the other.
std::size_t edit_distance(std::string_view from, std::string_view to);

}  // namespace assay
