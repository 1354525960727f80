#include "assay/op/rows.h"

#include <span>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {

AxisExtent extent_along(const Case& c, std::int64_t axis) {
  const Shape& shape = c.input("x").shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis >= rank) {
    throw std::invalid_argument(
        format("case {}: axis {} is no dimension of x {}", c.name, axis, shape_text(shape)));
  }
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {element_count(std::span(shape).first(at)), shape[at],
          element_count(std::span(shape).subspan(at + 1))};
}

}  // namespace assay
