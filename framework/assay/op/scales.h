// Which elements of a tensor share a scale: what quantize, dequantize and scaled_matmul agree on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/op/parameter.h"

namespace assay {

// The scales of a tensor x (..., rows, columns); a vector is one row, a scalar one element.
struct ScaleGrid {
  Shape shape;  // of the scales
  std::int64_t batch = 1, rows = 1, columns = 1;
  std::int64_t block_rows = 1, block_columns = 1;
  bool one = false;  // for the whole tensor, batches and all

  std::int64_t count() const { return element_count(shape); }
  std::int64_t grid_rows() const { return (rows + block_rows - 1) / block_rows; }
  std::int64_t grid_columns() const { return (columns + block_columns - 1) / block_columns; }
  // The scale of element [b, i, j], a row-major index.
  std::int64_t at(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return one ? 0 : (b * grid_rows() + i / block_rows) * grid_columns() + j / block_columns;
  }

  // Calls take(first, last, scale) for the stretches of a row that have one scale; the row counts
  // through all batches.
  template <typename Take>
  void for_stretches(std::int64_t row, const Take& take) const {
    const std::int64_t width = one ? columns : block_columns;
    for (std::int64_t j = 0; j < columns; j += width) {
      take(j, j + width < columns ? j + width : columns,
           static_cast<std::size_t>(at(row / rows, row % rows, j)));
    }
  }
};

// `scaling`: "tensor" (one scale, of rank 0), "row" (one a row: the shape without its last
// dimension), or blocks as in "1x128", "128x128": (..., ceil(rows / 128), ceil(columns / 128)), the
// last of each side perhaps smaller. `across`: rows lie along the last dimension but one, as those
// of a transposed matrix do ("row" then drops that dimension, and blocks are named by the
// transpose's rows first).
// Throws std::invalid_argument that names the case and the attribute's word.
ScaleGrid scale_grid(const Case& test_case, const std::string& attribute,
                     const std::string& scaling, const Shape& x, bool across = false);

// The scales of the input `name` as float64, row-major. Throws std::invalid_argument where their
// shape is not the grid's, their dtype is no float that float32 holds, or the case promises
// `scales` = power_of_two and one is none.
std::vector<double> scale_values(const Case& test_case, const std::string& name,
                                 const ScaleGrid& grid);

// The parameters `scaling` (of this name) and `scales`, as rows of the table list them.
Parameter scaling_parameter(const std::string& name, const std::string& of);
Parameter scales_parameter();

// In which order the scales of a and b meet a sum P, each product rounded to float32.
enum class ScaleOrder : std::uint8_t {
  kTogether,  // P (scale_a scale_b)
  kAFirst,    // (P scale_a) scale_b
  kBFirst,    // (P scale_b) scale_a
};
inline constexpr std::string_view kScaleOrderWords[] = {"together", "a_first", "b_first"};

// What a sum is multiplied by, one after the other.
struct ScaleFactors {
  float before, last;
};
inline ScaleFactors scale_factors(ScaleOrder order, float a, float b) {
  if (order == ScaleOrder::kAFirst) return {a, b};
  if (order == ScaleOrder::kBFirst) return {b, a};
  return {1.0f, a * b};
}

// Whether every finite value of `narrow` is one of `wide`.
bool holds_format(const Format& wide, const Format& narrow);

}  // namespace assay
