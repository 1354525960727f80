// SnrAtLeast, CosineAtLeast, RelativeL2AtMost, NoWorseThan: one number over all elements.
//
// Such a number hides a single corrupt element in a large tensor, and cosine does not see a wrong
// scale: use them together with CloseTo, not instead of it. NaN and infinity are never hidden: an
// infinity fails unless the other side has the same one, and a NaN fails unless the other side has
// a NaN and equal_nan() is set, whatever the number is.
//
// A check cannot be trusted, and does not match, if it would still pass with more than half of the
// elements set to zero, the smallest first. max_blind() sets another share.
#pragma once

#include <string>
#include <string_view>

#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

struct Metric;  // declared in judge/metric_table.h

// Matches if a metric over all elements meets a limit. equal_nan() says if NaN matches NaN. By
// default NaN matches nothing.
class MetricMatcher : public TensorMatcher<MetricMatcher>,
                      public EqualNanSetter<MetricMatcher>,
                      public MaxBlindSetter<MetricMatcher> {
 public:
  // `metric` is a metric of docs/judging.md for which larger or smaller values are better, with its
  // name in the JSON (judge/metric_table.h). Throws Refusal, with the nearest known
  // name, for another metric, and if the limit is NaN.
  MetricMatcher(Reference reference, std::string_view metric, double limit);

  static constexpr std::string_view kWhyOnHost = "its metrics are computed there";
  MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
  std::string describe(bool negated) const;

 private:
  Reference reference_;
  const Metric* metric_;
  double limit_;
};

// Matches if 10 log10(sum e^2 / sum (a - e)^2) >= decibels, where a is the output and e the
// reference.
MetricMatcher SnrAtLeast(Reference reference, double decibels);
// Matches if the cosine of the angle between the two tensors, as vectors, is at least `cosine`. The
// cosine does not see a wrong scale.
MetricMatcher CosineAtLeast(Reference reference, double cosine);
// Matches if sqrt(sum (a - e)^2 / sum e^2) <= limit, where a is the output and e the reference.
MetricMatcher RelativeL2AtMost(Reference reference, double limit);

// Matches if the output's error is at most factor() times that of another output. equal_nan() says
// if NaN matches NaN. By default NaN matches nothing.
class NoWorseMatcher : public TensorMatcher<NoWorseMatcher>,
                       public EqualNanSetter<NoWorseMatcher>,
                       public MaxBlindSetter<NoWorseMatcher> {
 public:
  NoWorseMatcher(Reference reference_implementation, Reference golden);

  // Sets the error that is compared: "rmse" (the default), "max_abs_error", "mere", "max_ulp" or
  // another metric of which a larger value is worse. Throws Refusal for another metric.
  NoWorseMatcher by(std::string_view metric) const;
  // Sets the factor by which the output's error may exceed the reference implementation's. The
  // default is 1. Throws Refusal if it is not a positive number.
  NoWorseMatcher factor(double value) const;
  // Sets the smallest error that the reference implementation is assumed to have. The default is 0.
  // Without this floor, a reference implementation that happens to be exact requires an exact
  // output.
  NoWorseMatcher floor(double value) const;

  static constexpr std::string_view kWhyOnHost = "its metrics are computed there";
  MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
  std::string describe(bool negated) const;

 private:
  Reference reference_, golden_;
  const Metric* metric_;
  double factor_ = 1, floor_ = 0;
};

// Matches if the output's error against the golden result is at most `factor` times that of a
// reference implementation. The reference implementation is another output of the same operator,
// from a GPU or from a peer's kernel.
NoWorseMatcher NoWorseThan(Reference reference_implementation, Reference golden);

}  // namespace assay
