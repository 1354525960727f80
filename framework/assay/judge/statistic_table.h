// Holds an output to the limits that a standard sets on statistics over whole tensors. The
// statistics are the metrics of judge/metrics_pass.h, over the elements where output and expected
// value are both finite; what histograms do not hold exactly is counted element by element.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/judge/limit.h"
#include "assay/judge/metrics_pass.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct StatisticsResult {
  std::vector<LimitReading> readings;  // one a limit
  bool met = false;                    // every limit holds
  bool trivial_met = false;            // zeros, or the negated expected values, meet them as well
  double worst_ratio = 0;              // largest value / limit that decides
  // Elements that count, and of those with an expected value other than 0 the share that could be
  // 0 at once: of the expected result, the smallest become 0 until a limit breaks. Not sought where
  // it is not asked for.
  std::int64_t nonzero = 0;
  std::optional<double> blind_share = {};
  std::string why_not;  // set where nothing can be said: no usable benchmark
};

struct StatisticsOptions {
  // A finished pass over `actual` and `expected` as it is stored, where the caller has one.
  const MetricsPass* metrics = nullptr;
  bool trivial = true;    // whether trivial_met is asked for
  bool blindness = true;  // whether blind_share is
  int threads = 0;        // 0: default_threads(); the result does not depend on it
  const TensorView* error_weights = nullptr;  // of limits that need them, float64
};

// What lies at the same places of both sides, from the element `begin` on; the last two where a
// limit needs them, else null.
struct StatisticsPiece {
  const TensorView& actual;
  const TensorView& expected;
  const TensorView* benchmark = nullptr;
  const TensorView* error_weights = nullptr;
  std::int64_t begin = 0;
};
// Gives, each time that it is called, all pieces in order; each but the last has a multiple of
// MetricsPass::kPart elements.
using StatisticsPieces = std::function<void(const std::function<void(const StatisticsPiece&)>&)>;

// What is sampled for the blind elements: those at sampled_positions().
struct StatisticsSample {
  Tensor actual, expected;
  std::optional<Tensor> benchmark = {};
};

// Judges two sides that are read piece by piece, as often as it takes: what the metrics of
// options.metrics, which must be there, do not hold exactly takes further passes. No limit may need
// a benchmark or weights. `expected` is the format of the expected values, `sample` is called where
// blindness is asked for.
StatisticsResult judge_statistics(const Format& actual, const Format& expected,
                                  const StatisticsPieces& pieces,
                                  const std::function<StatisticsSample()>& sample,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options);

// What of the metrics of an output these limits are read from.
MetricsRequest metrics_for(std::span<const Limit> limits, const TensorView& actual,
                           const TensorView& expected, bool round_expected, int threads);

// Both sides have one shape; `benchmark` too, where a limit needs it. The expected values are
// rounded to the output's format first where `round_expected` says so.
//
// The denominators of ratios are floored: MARE and MERE at the output format's unit roundoff u,
// RMSE at u times the root mean square of the expected values, counts at 1. A benchmark that is
// better than the format's own rounding hence counts as good as that rounding, and an error of 0
// passes nothing by itself.
StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const TensorView* benchmark, bool round_expected,
                                  std::span<const Limit> limits,
                                  const StatisticsOptions& options = {});

}  // namespace assay
