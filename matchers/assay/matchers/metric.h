// SnrAtLeast, CosineAtLeast, RelativeL2AtMost, NoWorseThan: one number over all elements.
//
// Such a number hides a single corrupt element in a large tensor, and cosine does not see a wrong
// scale: use them beside CloseTo, not instead of it. NaN and infinity never hide: an element where
// one side has them and the other has not the same fails, whatever the number is. What passes with
// more than half of its elements set to zero, the smallest first, does not match, as it cannot be
// trusted; max_blind() sets another share.
#pragma once

#include <string>
#include <string_view>

#include "assay/judge/metric_table.h"
#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay {

// equal_nan(): by default NaN matches nothing.
class MetricMatcher : public TensorMatcher<MetricMatcher>,
                      public EqualNanSetter<MetricMatcher>,
                      public MaxBlindSetter<MetricMatcher> {
 public:
  // `metric`: one of docs/judging.md by which outputs are better or worse, as the JSON calls it
  // (judge/metric_table.h). Throws std::invalid_argument on another, with the nearest known name,
  // and where the limit is NaN.
  MetricMatcher(Reference reference, std::string_view metric, double limit);

  MatchReport check(const TensorView& actual) const;
  std::string describe(bool negated) const;

 private:
  Reference reference_;
  const Metric* metric_;
  double limit_;
};

// 10 log10(sum e^2 / sum (a - e)^2) >= decibels.
MetricMatcher SnrAtLeast(Reference reference, double decibels);
// Cosine of the angle between the two tensors as vectors: blind to a wrong scale.
MetricMatcher CosineAtLeast(Reference reference, double cosine);
// sqrt(sum (a - e)^2 / sum e^2) <= limit.
MetricMatcher RelativeL2AtMost(Reference reference, double limit);

// equal_nan(): by default NaN matches nothing.
class NoWorseMatcher : public TensorMatcher<NoWorseMatcher>,
                       public EqualNanSetter<NoWorseMatcher>,
                       public MaxBlindSetter<NoWorseMatcher> {
 public:
  NoWorseMatcher(Reference benchmark, Reference golden);

  // The error that is compared: "rmse" (the default), "max_abs_error", "mere", "max_ulp" or another
  // metric of which more is worse. Throws std::invalid_argument on another.
  NoWorseMatcher by(std::string_view metric) const;
  // How many times the benchmark's error the output's may be (1). Throws std::invalid_argument
  // unless it is a positive number.
  NoWorseMatcher factor(double value) const;
  // Errors of the benchmark below this count as this (0): a benchmark that happens to be exact
  // otherwise asks for an exact output.
  NoWorseMatcher floor(double value) const;

  MatchReport check(const TensorView& actual) const;
  std::string describe(bool negated) const;

 private:
  Reference benchmark_, golden_;
  const Metric* metric_;
  double factor_ = 1, floor_ = 0;
};

// The output's error against the golden result is at most `factor` times that of a benchmark, which
// is another output of the same operator (of a GPU, of a peer's kernel).
NoWorseMatcher NoWorseThan(Reference benchmark, Reference golden);

}  // namespace assay
