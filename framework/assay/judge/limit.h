// Limits on statistics over whole tensors, which standards set.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "assay/judge/metric_table.h"

namespace assay {

struct Limit {
  Statistic statistic = {};
  double limit = 0;
  double parameter = 0, second = 0;  // as many as the statistic has
  int group = 0;                     // of the limits of one group other than 0, one is enough
  // Where not the statistic's own (metric_table.h): whether the limit itself is met.
  std::optional<LimitSense> sense = {};

  const MetricLimit& row() const { return *metric_of(statistic).limit; }
  LimitSense how() const;
  std::string text() const;  // "MERE < 0.000977"
  bool met(double value) const;
  bool needs_benchmark() const;
  bool needs_weights() const {
    return statistic == Statistic::kErrorSquares || statistic == Statistic::kErrorBias;
  }
};

// A limit, and what the output's statistic was. Infinite where it has no finite value.
struct LimitReading {
  Limit limit;
  double value = 0;
  bool met = false;
};

// Whether the limit of `r`, one of the readings, is met, or another one of its group: there, one is
// enough.
bool holds(std::span<const LimitReading> readings, const LimitReading& r);
bool all_hold(std::span<const LimitReading> readings);
// The largest part of a limit that is used up: value / limit, of a group the smallest; above 1, or
// at it, the readings do not hold.
double worst_ratio(std::span<const LimitReading> readings);

}  // namespace assay
