#include "assay/matchers/deterministic.h"

#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {

DeterministicMatcher::DeterministicMatcher(int runs) : runs_(runs) {
  if (runs < 2) {
    refuse("Deterministic compares runs with each other: at least 2 are needed, not {}", runs);
  }
}

std::string DeterministicMatcher::compare(const TensorView& first, const TensorView& again,
                                          int run) const {
  const FloatEnvironment environment;
  if (first.format != again.format || first.shape != again.shape) {
    return formatted("which differs in run {} of {}: it gives {} {}, run 1 gave {} {}", run, runs_,
                     again.format->name, shape_text(again.shape), first.format->name,
                     shape_text(first.shape));
  }
  std::int64_t differing = 0, at = -1;
  const TensorView first_parts = parts_of(first), again_parts = parts_of(again);
  const std::int64_t parts = first.format->is_complex() ? 2 : 1;
  const auto same_at = [&](std::int64_t i) {
    for (std::int64_t part = i * parts; part < (i + 1) * parts; ++part) {
      if (first_parts.bits_at(part) != again_parts.bits_at(part)) return false;
    }
    return true;
  };
  const auto element = [&](const TensorView& view, const TensorView& of_parts) {
    return parts == 1
               ? element_text(*view.format, view.bits_at(at))
               : complex_text(*view.format, of_parts.bits_at(2 * at), of_parts.bits_at(2 * at + 1));
  };
  for (std::int64_t i = 0; i < first.size(); ++i) {
    if (same_at(i)) continue;
    if (differing++ == 0) at = i;
  }
  if (differing == 0) return "";
  return formatted(
      "which differs in run {} of {}, in {} of {} elements, first at {}: {} in run 1, {} in run {}",
      run, runs_, grouped(differing), grouped(first.size()), shape_text(first.multi_index(at)),
      element(first, first_parts), element(again, again_parts), run);
}

std::string DeterministicMatcher::same(const TensorView& first) const {
  return formatted("which gives the same bits in {} runs ({} {})", runs_, first.format->name,
                   shape_text(first.shape));
}

void DeterministicMatcher::DescribeTo(std::ostream* os) const {
  *os << formatted("gives the same bits in {} runs", runs_);
}
void DeterministicMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << formatted("gives other bits in one of {} runs", runs_);
}

}  // namespace assay
