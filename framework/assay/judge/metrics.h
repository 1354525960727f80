// The accumulators behind Metrics: one pass, in parts that are merged in order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "assay/judge/verdict.h"
#include "assay/simd/metrics.h"

namespace assay {

// Metrics of consecutive blocks of elements. A block's sums are float64, in lanes and in an order
// that depend on nothing but the block; the sums of blocks are added in long double, which carries
// squares of float64 values as well. Where a block's squares leave the range of float64, its sums
// are computed in long double.
class MetricsPass {
 public:
  static constexpr std::size_t kBlock = simd::kMetricsBlock;

  MetricsPass(const Format& output, const Bound& bound);

  // At most kBlock elements; `expected` as stored, `rounded` in the output's format (it may be the
  // same pointer); positions begin at `first`. `errors`, where it is given, are the exact
  // differences of integers that float64 does not carry. The arrays have room for kBlock elements:
  // what lies behind the n-th up to a multiple of simd::kMetricsLanes is overwritten.
  void add(double* actual, double* expected, double* rounded, std::size_t n, std::int64_t first,
           const double* errors);
  // Float32 outputs and golden results where they lie; n is a multiple of simd::kMetricsLanes.
  void add(const float* actual, const float* expected, std::size_t n, std::int64_t first);
  // In the last block: whether some element may exceed the bound, whether NaN met NaN.
  bool may_miss() const { return may_miss_; }
  bool nan_met_nan() const { return nan_met_nan_; }
  // Two NaN of different bits were met.
  void nan_bits_differ() { differs_ = true; }
  // The part that follows this one.
  void merge(const MetricsPass& later);
  Metrics result() const;
  // Largest error / bound over finite elements, as the tolerance rule compares them.
  double worst_ratio() const { return records_.ratio; }

 private:
  template <typename T>
  void take(const T* actual, const T* expected, const T* rounded, const double* errors,
            std::size_t n, std::int64_t first);
  void special(double a, double e, double r);
  void record(double judged_error, double judged);

  const Format* format_;
  const Bound* bound_;
  simd::MetricsSpec spec_;
  simd::MetricsRecords records_{0, 0, 0};
  Metrics m_;
  std::int64_t total_ = 0;
  bool differs_ = false, may_miss_ = false, nan_met_nan_ = false;
  std::array<long double, simd::kMetricsSums> sums_{};
  std::vector<std::uint32_t> tables_;  // of this part, as simd::MetricsTables
  std::vector<std::int64_t> merged_;   // of the parts before it, one copy of each table
};

}  // namespace assay
