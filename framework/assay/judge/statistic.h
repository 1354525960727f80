// Statistics over whole tensors that standards set limits to. Float64 sums in row-major order, over
// the elements where output and expected value are both finite.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/judge/bound.h"
#include "assay/tensor/tensor.h"

namespace assay {

// A limit, and what the output's statistic was. Infinite where it has no finite value.
struct LimitReading {
  Limit limit;
  double value = 0;
  bool met = false;
};

// Whether the limit of `r`, one of the readings, is met, or another one of its group: there, one is
// enough.
bool holds(std::span<const LimitReading> readings, const LimitReading& r);

struct StatisticsResult {
  std::vector<LimitReading> readings;  // one a limit
  bool met = false;                    // every limit holds
  bool trivial_met = false;            // zeros, or the negated expected values, meet them as well
  double worst_ratio = 0;              // largest value / limit that decides
  std::string why_not;                 // set where nothing can be said: no usable benchmark
};

// Both sides have one shape; `benchmark` too, where a limit needs it. The expected values are
// rounded to the output's format first where `round_expected` says so.
//
// The denominators of ratios are floored: MARE and MERE at the output format's unit roundoff u,
// RMSE at u times the root mean square of the expected values, counts at 1. A benchmark that is
// better than the format's own rounding hence counts as good as that rounding, and an error of 0
// passes nothing by itself.
StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const TensorView* benchmark, bool round_expected,
                                  std::span<const Limit> limits);

}  // namespace assay
