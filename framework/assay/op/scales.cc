#include "assay/op/scales.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

// Returns 128 and 64 for "128x64".
std::optional<std::pair<std::int64_t, std::int64_t>> block_of(std::string_view word) {
  const std::size_t cross = word.find('x');
  if (cross == std::string_view::npos) return std::nullopt;
  std::int64_t sides[2] = {0, 0};
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (i == cross) continue;
    if (word[i] < '0' || word[i] > '9') return std::nullopt;
    std::int64_t& side = sides[i > cross ? 1 : 0];
    side = side * 10 + (word[i] - '0');
    if (side > std::int64_t{1} << 40) return std::nullopt;
  }
  if (sides[0] < 1 || sides[1] < 1) return std::nullopt;
  return std::pair(sides[0], sides[1]);
}

constexpr char kFreeScales[] = "free";

// Returns the shape without extents of 1, which do not change the order of elements: [M, 1] and
// [1, N] hold the same scales as [M] and [N].
Shape without_ones(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

}  // namespace

Parameter scaling_parameter(const std::string& name, const std::string& of) {
  return {.name = name,
          .kind = ParameterKind::kScaling,
          .default_value = "tensor",
          .words = "elements of " + of + " that share a scale",
          .tried = {"tensor", "row", "1x128", "128x128"}};
}

Parameter scales_parameter() {
  Parameter scales = word_parameter("scales", {kFreeScales, "power_of_two"},
                                    "whether scales are only powers of two");
  scales.tried = scales.choices;
  return scales;
}

ScaleGrid scale_grid(const Case& c, const std::string& attribute, const std::string& scaling,
                     const Shape& x, bool across) {
  ScaleGrid grid;
  const std::size_t rank = x.size();
  if (rank > 0) grid.columns = x[rank - 1];
  if (rank > 1) grid.rows = x[rank - 2];
  for (std::size_t d = 0; d + 2 < rank; ++d) grid.batch *= x[d];
  if (scaling == "tensor") {
    grid.one = true;
    return grid;
  }
  grid.shape = x;
  if (scaling == "row" && rank >= (across ? 2 : 1)) {
    grid.shape.erase(grid.shape.end() - (across ? 2 : 1));
    (across ? grid.block_rows : grid.block_columns) =
        std::max<std::int64_t>(across ? grid.rows : grid.columns, 1);
    return grid;
  }
  const auto block = block_of(scaling);
  if (!block || rank < 2) {
    refuse_case(c.name,
                "{} is '{}', which does not fit a tensor of shape {}; give tensor, row, or blocks "
                "of a matrix such as 1x128 or 128x128",
                attribute, scaling, shape_text(x));
  }
  grid.block_rows = across ? block->second : block->first;
  grid.block_columns = across ? block->first : block->second;
  grid.shape[rank - 2] = grid.grid_rows();
  grid.shape[rank - 1] = grid.grid_columns();
  return grid;
}

std::vector<double> scale_values(const Case& c, const std::string& name, const ScaleGrid& grid) {
  const Tensor& scales = c.input(name);
  if (without_ones(scales.shape()) != without_ones(grid.shape)) {
    refuse_case(c.name, "{} has the shape {}, but the scales of its tensor have {}", name,
                shape_text(scales.shape()), shape_text(grid.shape));
  }
  if (!scales.format().is_float() || !holds_format(format_named("float32"), scales.format())) {
    refuse_case(c.name,
                "{} is {}, but scales must be float32, or of a format whose values float32 holds",
                name, scales.format().name);
  }
  std::vector<double> values = scales.view().values();
  if (word_of(c, "scales") == kFreeScales) return values;
  for (const double v : values) {
    int exponent = 0;
    if (std::isfinite(v) && std::frexp(v, &exponent) != 0.5) {
      refuse_case(
          c.name,
          "{} holds {}, which is no power of two, but the parameter scales is 'power_of_two'", name,
          number_text(v));
    }
  }
  return values;
}

bool holds_format(const Format& wide, const Format& narrow) {
  if (!wide.is_float() || wide.specials == Specials::kTapered) return &wide == &narrow;
  const bool precise = wide.precision >= narrow.precision;
  if (!narrow.is_float()) return precise && max_finite(wide) >= max_finite(narrow);
  return precise && min_subnormal(wide) <= min_subnormal(narrow) &&
         max_finite(wide) >= max_finite(narrow);
}

}  // namespace assay
