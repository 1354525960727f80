#include "assay/tensor/read_shape.h"

#include "assay/base/call_text.h"

namespace assay::inline v0_2 {

std::optional<Shape> read_shape(std::string_view text, char separator) {
  if (text == "scalar") return Shape{};
  Shape shape;
  for (const std::string& part : every_part(text, separator)) {
    const auto extent = read_number<std::int64_t>(part);
    if (!extent || *extent < 0) return std::nullopt;
    shape.push_back(*extent);
  }
  return shape;
}

}  // namespace assay
