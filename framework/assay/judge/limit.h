// Limits on statistics over whole tensors, which standards set.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "assay/judge/metric_table.h"

namespace assay::inline v0_2 {

// A limit on one statistic.
struct Limit {
  Statistic statistic = {};
  double limit = 0;
  double parameter = 0, second = 0;  // the statistic's parameters, if it has one or two
  // Each limit of group 0 must hold. In any other group, one limit that holds is enough.
  int group = 0;
  // If set, the value is compared with the limit in this way (below, at most, above or at least),
  // and not as the statistic's row in metric_table.h says.
  std::optional<LimitSense> sense = {};

  const MetricLimit& row() const { return *metric_of(statistic).limit; }
  LimitSense how() const;
  std::string text() const;  // "MERE < 0.000977"
  bool met(double value) const;
  bool needs_reference() const;
  bool needs_weights() const {
    return statistic == Statistic::kErrorSquares || statistic == Statistic::kErrorBias;
  }
};

// Return true if at least one of the limits needs the weights of the squared errors, or the output
// of a reference implementation.
inline bool any_needs_weights(std::span<const Limit> limits) {
  return std::ranges::any_of(limits, &Limit::needs_weights);
}
inline bool any_needs_reference(std::span<const Limit> limits) {
  return std::ranges::any_of(limits, &Limit::needs_reference);
}

// A limit and the value of the output's statistic. The value is infinite if the statistic has no
// finite value.
struct LimitReading {
  Limit limit;
  double value = 0;
  bool met = false;
};

// True if the limit of `r`, one of the readings, is met. If it belongs to a group, one limit of the
// group that is met is enough.
bool holds(std::span<const LimitReading> readings, const LimitReading& r);
bool all_hold(std::span<const LimitReading> readings);
// Returns the largest share of a limit that is used up: value / limit, or the smallest share in a
// group. If it exceeds 1, the readings do not hold. At exactly 1 they hold only if the limit allows
// equality.
double worst_ratio(std::span<const LimitReading> readings);

}  // namespace assay
