#include "assay/cases/epilogue.h"

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

bool is_wide(const Format& f) { return f.name == "float32" || f.name == "float64"; }

}  // namespace

std::string why_not_cast(const Format& output) {
  if (output.is_float() && output.precision < 24) return "";
  return formatted(
      "outputs of {} are not cast from a wider accumulator, so that they have no residual",
      output.name);
}

std::string why_no_accumulator(const Format& f, const Shape& accumulator, const Format& output,
                               const Shape& shape) {
  if (std::string why = why_not_cast(output); !why.empty()) return why;
  if (is_wide(f) && accumulator == shape) return "";
  return formatted(
      "the accumulator is {} {}, but for an output {} {} it must be float32 or float64 of the same "
      "shape",
      f.name, shape_text(accumulator), output.name, shape_text(shape));
}

std::string why_no_residual(const Format& f, const Shape& residual, const Format& output,
                            const Shape& shape) {
  if (std::string why = why_not_cast(output); !why.empty()) return why;
  bool fits = is_wide(f) && shape.size() >= 2 && residual.size() == shape.size() &&
              residual.back() <= shape.back();
  for (std::size_t d = 0; fits && d + 1 < shape.size(); ++d) fits = residual[d] == shape[d];
  if (fits) return "";
  return formatted(
      "the residual is {} {}, but for an output {} {} it must be float32 or float64 of the shape "
      "[..., M, checks in a row]",
      f.name, shape_text(residual), output.name, shape_text(shape));
}

std::string why_no_epilogue(const Epilogue& e, const Format& output, const Shape& shape) {
  std::string why;
  if (!e.accumulator.empty()) {
    why = why_no_accumulator(e.accumulator.format(), e.accumulator.shape(), output, shape);
  }
  if (why.empty() && !e.residual.empty()) {
    why = why_no_residual(e.residual.format(), e.residual.shape(), output, shape);
  }
  return why;
}

}  // namespace assay
