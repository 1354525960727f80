#pragma once

#include <cstddef>
#include <cstdint>

namespace assay {

// A size or place of a tensor, which has a sign here, as the standard containers count.
inline std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace assay
