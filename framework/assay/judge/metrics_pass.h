// The accumulators behind Metrics: one pass, in parts that are merged in order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "assay/base/quad.h"
#include "assay/judge/bound.h"
#include "assay/judge/metrics.h"
#include "assay/judge/quantile_errors.h"
#include "assay/simd/metrics_kernel.h"

namespace assay {

// What a pass is to take.
struct MetricsRequest {
  // Of simd::MetricsPart. Without simd::kPartTables only float32 values are taken, of which no sum
  // leaves the range of float64, and metrics that need other parts mean nothing.
  unsigned parts = simd::kAllParts;
  // Kept without simd::kPartTables, whose histograms find them.
  std::vector<QuantileErrors> quantiles = {};
};

struct IntegerErrors;

// Metrics of consecutive blocks of elements. A block's sums are float64, in lanes and in an order
// that depend on nothing but the block; the sums of a part's blocks are added in float64 with their
// rounding errors beside them (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26(6), 2005), those of
// parts in binary128, which carries squares of float64 values as well. Where a block's squares
// leave the range of float64, its sums are computed in binary128.
class MetricsPass {
 public:
  // Elements that are looked at at a time: the buffers stay in cache.
  static constexpr std::size_t kBlock = simd::kMetricsBlock;
  // Elements of a part, but for the last one: the sums' bits are those of parts of this size.
  static constexpr std::int64_t kPart = std::int64_t{1} << 18;

  MetricsPass(const Format& output, const Bound& bound, const MetricsRequest& wanted = {});

  // At most kBlock elements; `expected` as stored, `rounded` in the output's format (it may be the
  // same pointer); positions begin at `first`. `exact`, where it is given, are the differences of
  // integers that float64 does not carry. The arrays have room for kBlock elements: what lies
  // behind the n-th up to a multiple of simd::kMetricsLanes is overwritten.
  void add(double* actual, double* expected, double* rounded, std::size_t n, std::int64_t first,
           const IntegerErrors* exact);
  // The same of float32 values, which are not written to. Without simd::kPartTables they may be
  // those of any formats that float32 holds; for ulps `expected` is in the output's.
  void add(const float* actual, const float* expected, std::size_t n, std::int64_t first);
  // Complex elements, each two values, real part first: metrics of magnitudes, |actual - expected|
  // against |expected|. What needs a sign or an order of the values stays 0, or NaN (bias, error
  // balance, ulps, small values). No arrays are written to; n and `first` are in elements.
  void add_complex(const double* actual, const double* expected, const double* rounded,
                   std::size_t n, std::int64_t first);
  // In the last block: whether some element may exceed the bound (it may, of a rule that is not
  // plain, or without simd::kPartTables), whether a side (or the rounded expected value) of some
  // element is NaN or infinite (without simd::kPartTables: may be), whether NaN met NaN.
  bool may_miss() const { return may_miss_; }
  bool met_special() const { return met_special_; }
  bool nan_met_nan() const { return nan_met_nan_; }
  // Some expected value so far is not one of the output's format.
  bool expected_rounds() const { return m_.expected_rounds; }
  // Two NaN of different bits were met, or complex elements of different bits.
  void bits_differ() { differs_ = true; }
  // After the last block of a part: what is needed no more is given back.
  void finish();
  // The part that follows this one; both are finished.
  void merge(const MetricsPass& later);
  Metrics result() const;  // of a finished pass
  // The same with ulps of the elements that are finite on both sides alone, as standards count
  // them; where the output's format makes NaN of such an expected value, it is infinitely far.
  Metrics finite_result() const;
  // How many of the elements that are finite on both sides are more than so many ulps, 1 or 32,
  // apart: of a pass with simd::kPartUlps and without simd::kPartTables, which has it in a
  // histogram.
  std::optional<std::int64_t> over_ulps(double ulps) const;
  // Where the request had them, else null.
  const QuantileErrors* quantile(bool relative, double share) const;
  // The root of the mean of the squares of the finite expected values; 0 of none.
  double expected_rms() const;
  // Largest error / bound over finite elements, as the tolerance rule compares them; infinite where
  // the rule is not plain.
  double worst_ratio() const { return records_.ratio; }

 private:
  template <typename T>
  void take(const T* actual, const T* expected, const T* rounded, const double* errors,
            const std::uint64_t* distances, std::size_t n, std::int64_t first);
  // As add(), with errors that go with any values, and distances or null.
  void add_padded(double* actual, double* expected, double* rounded, std::size_t n,
                  std::int64_t first, const double* errors, const std::uint64_t* distances);
  void add_sums(const double* sums);  // of a block
  // An element where a side is NaN or infinite, or rounds to that.
  void special(double a, double e, double r);
  Metrics result_of(const std::vector<std::pair<std::size_t, std::int64_t>>& bins,
                    std::int64_t no_ulps, Quad sum_ulps) const;
  void record(double judged_error, double judged);

  bool has_tables() const { return (spec_.parts & simd::kPartTables) != 0; }

  const Format* format_;
  const Bound* bound_;
  bool is_complex_;
  simd::MetricsSpec spec_;
  simd::MetricsRecords records_{0, 0, 0};
  Metrics m_;
  std::int64_t total_ = 0;
  bool differs_ = false, may_miss_ = false, met_special_ = false, nan_met_nan_ = false;
  std::array<Quad, simd::kMetricsSums> sums_{};
  // Of the blocks since finish(): sums as float64 rounds them, and what it rounded off.
  std::array<double, simd::kMetricsSums> rounded_sums_{}, rounding_{};
  std::vector<QuantileErrors> quantiles_;
  void empty_tables();
  // Counters of the kernel, and what was in them when they were emptied: (bin, count), in order.
  std::vector<std::uint16_t> tables_;
  std::vector<std::pair<std::size_t, std::int64_t>> bins_;
  std::int64_t in_tables_ = 0;
  // Lanes that the kernel counted in bin 0 though they have no such error.
  std::int64_t no_error_ = 0, no_relative_ = 0, no_ulps_ = 0;
  // Of what has ulps, the elements where a side is infinite: how many are equal; bins and sum of
  // the distances of the others.
  std::int64_t equal_infinities_ = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> infinite_bins_;
  Quad infinite_ulps_ = 0;
  std::int64_t over_1_ulp_ = 0, over_32_ulps_ = 0;  // of finite elements, without tables
  // Finite elements whose expected value is NaN in the output's format.
  std::int64_t rounded_to_nan_ = 0;
};

// Whether the order of a format's values is that of simd::Ordinals: of all floats but tapered ones,
// scales, and those as precise as float64 with another range.
bool has_ordinals(const Format& format);
// Of such a format; of others its smallest values alone.
simd::Ordinals ordinals_of(const Format& format);

inline constexpr auto kMetricsBlock = static_cast<std::int64_t>(MetricsPass::kBlock);

}  // namespace assay
