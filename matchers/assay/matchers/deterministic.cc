#include "assay/matchers/deterministic.h"

#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay {

DeterministicMatcher::DeterministicMatcher(int runs) : runs_(runs) {
  if (runs < 2) {
    throw std::invalid_argument(
        format("Deterministic compares runs with each other: at least 2 are needed, not {}", runs));
  }
}

std::string DeterministicMatcher::compare(const TensorView& first, const TensorView& again,
                                          int run) const {
  const FloatEnvironment environment;
  if (first.format != again.format || first.shape != again.shape) {
    return format("which differs in run {} of {}: it gives {} {}, run 1 gave {} {}", run, runs_,
                  again.format->name, shape_text(again.shape), first.format->name,
                  shape_text(first.shape));
  }
  std::int64_t differing = 0, at = -1;
  for (std::int64_t i = 0; i < first.size(); ++i) {
    if (first.bits_at(i) == again.bits_at(i)) continue;
    if (differing++ == 0) at = i;
  }
  if (differing == 0) return "";
  return format(
      "which differs in run {} of {}, in {} of {} elements, first at {}: {} in run 1, {} "
      "in run {}",
      run, runs_, grouped(differing), grouped(first.size()), shape_text(first.multi_index(at)),
      element_text(*first.format, first.bits_at(at)),
      element_text(*again.format, again.bits_at(at)), run);
}

std::string DeterministicMatcher::same(const TensorView& first) const {
  return format("which gives the same {} {} in {} runs", first.format->name,
                shape_text(first.shape), runs_);
}

void DeterministicMatcher::DescribeTo(std::ostream* os) const {
  *os << format("gives the same bits in {} runs", runs_);
}
void DeterministicMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << format("gives other bits in one of {} runs", runs_);
}

}  // namespace assay
