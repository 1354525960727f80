// Reads a shape from a text. base/text.h has shape_text(), which writes one.
#pragma once

#include <optional>
#include <string_view>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// Reads extents of at least 0 with `separator` between them, as in "2x8x128", or "scalar". Returns
// nothing if the text is something else. The number of elements may be beyond int64.
std::optional<Shape> read_shape(std::string_view text, char separator);

}  // namespace assay
