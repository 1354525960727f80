#include "assay/op/along_axis.h"

#include <span>

#include "assay/base/text.h"

namespace assay::inline v0_2 {

AxisExtent extent_along(const Case& c, std::int64_t axis) {
  const Shape& shape = c.input("x").shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis >= rank) {
    refuse_case(c.name, "axis {} is no dimension of x {}", axis, shape_text(shape));
  }
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {element_count(std::span(shape).first(at)), shape[at],
          element_count(std::span(shape).subspan(at + 1))};
}

void transpose(std::int64_t rows, std::int64_t n, const double* from, double* to) {
  // Reads 8 elements of each row at a time, which are one cache line.
  constexpr std::int64_t kTile = 8;
  for (std::int64_t begin = 0; begin < n; begin += kTile) {
    const std::int64_t end = std::min(n, begin + kTile);
    for (std::int64_t j = 0; j < rows; ++j) {
      for (std::int64_t i = begin; i < end; ++i) to[i * rows + j] = from[j * n + i];
    }
  }
}
void transpose(std::int64_t rows, std::int64_t n, const float* from, float* to) {
  simd::transpose(static_cast<std::size_t>(rows), static_cast<std::size_t>(n), from, to);
}

}  // namespace assay
