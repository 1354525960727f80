// Judges an output by the limits that a standard sets on statistics over whole tensors. The
// statistics are the metrics of judge/metrics_pass.h, over the elements that are finite on both
// sides. Statistics that histograms do not hold exactly are counted element by element.
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

namespace assay::inline v0_2 {

struct StatisticsResult {
  std::vector<LimitReading> readings = {};  // for each limit, the value of its statistic
  bool met = false;                         // every limit holds
  // True if zeros in place of the output, or the negated expected values, meet all limits as well.
  bool trivial_met = false;
  double worst_ratio = 0;  // the largest value / limit among the limits that decide
  // `nonzero` is the number of elements that are finite on both sides and whose expected value is
  // not 0. `blind_share` is the share of these that could be 0 at once: the smallest expected
  // values become 0 until a limit breaks. It is empty if blindness is not requested, or if a limit
  // needs weights.
  std::int64_t nonzero = 0;
  std::optional<double> blind_share = {};
  // The reason if nothing can be judged: there is no usable reference implementation, or there are
  // no weights.
  std::string why_not = {};
};

struct StatisticsOptions {
  // A finished pass over `actual` and `expected` as stored, if the caller has one.
  const MetricsPass* metrics = nullptr;
  bool trivial = true;    // compute trivial_met
  bool blindness = true;  // compute blind_share
  int threads = 0;        // 0 means default_threads(). The result does not depend on it
  // Weights of the squared errors, in float64, for limits that need them.
  std::optional<TensorView> error_weights = {};
};

// A piece: the same elements of both sides, from the element `begin` on. `reference_implementation`
// and `error_weights` are null unless a limit needs them.
struct StatisticsPiece {
  const TensorView& actual;
  const TensorView& expected;
  const TensorView* reference_implementation = nullptr;
  const TensorView* error_weights = nullptr;
  std::int64_t begin = 0;
};
// Passes all pieces to its argument in order, at every call. Each piece except the last has a
// multiple of MetricsPass::kPart elements.
using StatisticsPieces = std::function<void(const std::function<void(const StatisticsPiece&)>&)>;

// The elements at sampled_positions(), in which blind elements are sought.
struct StatisticsSample {
  Tensor actual, expected;
  std::optional<Tensor> reference_implementation = {};
};

// Judges two sides that are read piece by piece. If options.metrics, which is required, does not
// hold a statistic exactly, the pieces are read again. No limit may need a reference implementation
// or weights. `expected` is the format of the expected values. `sample` is called if blindness is
// requested.
StatisticsResult judge_statistics(const Format& actual, const Format& expected,
                                  const StatisticsPieces& pieces,
                                  const std::function<StatisticsSample()>& sample,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options);

// Returns which metrics of an output these limits are read from.
MetricsRequest metrics_for(std::span<const Limit> limits, const TensorView& actual,
                           const TensorView& expected, bool round_expected, int threads);

// Judges two tensors of the same shape. `reference_implementation` has this shape, too, if a limit
// needs it. The expected values are first rounded to the output's format if `round_expected` is
// true.
//
// The denominators of ratios are floored: MARE and MERE at the output format's unit roundoff u,
// RMSE at u times the root mean square of the expected values, and counts at 1. So a reference
// implementation that is better than the format's own rounding counts as good as that rounding, and
// an error of exactly 0 does not make every other output fail.
StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const std::optional<TensorView>& reference_implementation,
                                  bool round_expected, std::span<const Limit> limits,
                                  const StatisticsOptions& options = {});

}  // namespace assay
