#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// Converts a size or position of a tensor, which is signed here, to the unsigned type of the
// standard containers.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace assay
