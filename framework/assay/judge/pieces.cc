#include "assay/judge/pieces.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/judge/blindness.h"
#include "assay/judge/complex.h"
#include "assay/judge/indices.h"

namespace assay {

bool PiecewiseJudge::can_judge(const Bound& bound) {
  // Budgets are about all elements at once, too.
  const bool of_all = bound.max_mismatches || bound.max_mismatch_fraction;
  return judges_single_elements(bound) && !of_all && !bound.needs_benchmark();
}

PiecewiseJudge::PiecewiseJudge(const Format& actual, Shape shape, const Bound& bound)
    : bound_(bound) {
  const FloatEnvironment environment;
  if (!can_judge(bound)) {
    throw std::invalid_argument(
        format("standard {} judges an array as a whole, not in pieces", bound.standard));
  }
  sum_.bound = bound;
  sum_.format = &actual;
  sum_.shape = std::move(shape);
  sampled_ = sampled_positions(element_count(sum_.shape));
}

void PiecewiseJudge::add(const TensorView& actual, const TensorView& expected) {
  const FloatEnvironment environment;
  if (actual.format->is_complex()) {
    if (const std::string why_not = why_not_complex(bound_); !why_not.empty()) {
      throw std::invalid_argument(why_not);
    }
  }
  if (actual.format != sum_.format || actual.rank() != 1 || actual.shape != expected.shape ||
      sum_.sites % kUnit != 0 || sum_.sites + actual.size() > element_count(sum_.shape)) {
    throw std::invalid_argument("PiecewiseJudge: the pieces do not follow one another");
  }
  if (const std::string why_not = why_not_comparable(actual, expected); !why_not.empty()) {
    throw std::invalid_argument(why_not);
  }
  judge_elements(actual, expected, bound_, {}, true, sum_.sites, found_);
  for (; next_ < sampled_.size() && sampled_[next_] < sum_.sites + actual.size(); ++next_) {
    sizes_.push_back(magnitude_at(expected, sampled_[next_] - sum_.sites));
  }
  sum_.sites += actual.size();
}

Verdict PiecewiseJudge::result() const {
  const FloatEnvironment environment;
  Verdict verdict = sum_;
  if (verdict.sites == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to compare";
    return verdict;
  }
  settle(verdict, found_, std::nullopt, true, [&] { return sizes_; });
  return verdict;
}

}  // namespace assay
