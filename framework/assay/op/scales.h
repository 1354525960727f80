// The elements of a tensor that share a scale: the common rule of quantize, dequantize and
// scaled_matmul.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/op/parameter.h"

namespace assay::inline v0_2 {

// The grid of scales of a tensor x (..., rows, columns). A vector counts as one row, and a scalar
// as one element.
struct ScaleGrid {
  Shape shape;  // of the scales
  std::int64_t batch = 1, rows = 1, columns = 1;
  std::int64_t block_rows = 1, block_columns = 1;
  bool one = false;  // true if the whole tensor, with all batches, has one scale

  std::int64_t count() const { return element_count(shape); }
  std::int64_t grid_rows() const { return (rows + block_rows - 1) / block_rows; }
  std::int64_t grid_columns() const { return (columns + block_columns - 1) / block_columns; }
  // Returns the row-major index of the scale of element [b, i, j].
  std::int64_t at(std::int64_t b, std::int64_t i, std::int64_t j) const {
    return one ? 0 : (b * grid_rows() + i / block_rows) * grid_columns() + j / block_columns;
  }

  // Calls take(first, last, scale) for each stretch [first, last) of a row that has one scale, with
  // the index of the scale. `row` counts the rows of all batches.
  template <typename Take>
  void for_stretches(std::int64_t row, const Take& take) const {
    const std::int64_t width = one ? columns : block_columns;
    for (std::int64_t j = 0; j < columns; j += width) {
      take(j, j + width < columns ? j + width : columns,
           static_cast<std::size_t>(at(row / rows, row % rows, j)));
    }
  }
};

// Returns the grid of `scaling`:
// - "tensor": one scale, of rank 0
// - "row": one scale for each row, so the shape is x's without its last dimension
// - blocks such as "1x128" or "128x128": (..., ceil(rows / 128), ceil(columns / 128)). The last
//   block of each side may be smaller.
//
// If `across` is set, rows lie along the last dimension but one, as in a transposed matrix. "row"
// then drops that dimension, and blocks are named by the transpose's rows first. Throws
// Refusal, which names the case and the attribute's word, if `scaling` does not fit.
ScaleGrid scale_grid(const Case& test_case, const std::string& attribute,
                     const std::string& scaling, const Shape& x, bool across = false);

// Returns the scales of the input `name` as float64, row-major. Throws Refusal if
// their shape is not the grid's, or if their dtype is not a float that float32 can hold. Also
// throws if the case has `scales` = power_of_two and a scale is not a power of two.
std::vector<double> scale_values(const Case& test_case, const std::string& name,
                                 const ScaleGrid& grid);

// Return the parameters `scaling` (with the name `name`) and `scales`, as an operator lists them.
Parameter scaling_parameter(const std::string& name, const std::string& of);
Parameter scales_parameter();

// The order in which a sum P is multiplied by the scales of a and b. Each product is rounded to
// float32.
enum class ScaleOrder : std::uint8_t {
  kTogether,  // computes P (scale_a scale_b)
  kAFirst,    // computes (P scale_a) scale_b
  kBFirst,    // computes (P scale_b) scale_a
};
inline constexpr std::string_view kScaleOrderWords[] = {"together", "a_first", "b_first"};

// The two factors by which a sum is multiplied, in the order in which they are applied.
struct ScaleFactors {
  float before, last;
};
inline ScaleFactors scale_factors(ScaleOrder order, float a, float b) {
  if (order == ScaleOrder::kAFirst) return {a, b};
  if (order == ScaleOrder::kBFirst) return {b, a};
  return {1.0f, a * b};
}

// True if `wide` can hold every finite value of `narrow`.
bool holds_format(const Format& wide, const Format& narrow);

}  // namespace assay
