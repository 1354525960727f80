// Computes Metrics in one pass over the elements, in parts that are merged in order.
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

namespace assay::inline v0_2 {

// The metrics that a pass computes.
struct MetricsRequest {
  // A set of simd::MetricsPart. Without simd::kPartTables, the pass takes only float32 values whose
  // sums stay within the range of float64. Metrics of parts that are missing have no meaning.
  unsigned parts = simd::kAllParts;
  // The quantiles of errors to compute. Used only without simd::kPartTables, whose histograms give
  // the quantiles.
  std::vector<QuantileErrors> quantiles = {};
};

struct IntegerErrors;

// Computes metrics from consecutive blocks of elements. The sums of a block are float64, in lanes
// and in an order that depend only on the block. The sums of all blocks of a part are added in
// float64, together with their rounding errors (Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26(6),
// 2005). The sums of parts are added in binary128, which can hold squares of float64 values. If a
// block's squares leave the range of float64, its sums are computed in binary128.
class MetricsPass {
 public:
  // Elements in a block. The buffers stay in cache.
  static constexpr std::size_t kBlock = simd::kMetricsBlock;
  // Elements in every part except the last. The bits of the sums depend on this size.
  static constexpr std::int64_t kPart = std::int64_t{1} << 18;

  MetricsPass(const Format& output, const Bound& bound, const MetricsRequest& wanted = {});

  // Adds at most kBlock elements, whose positions begin at `first`. `expected` holds values as
  // stored, and `rounded` holds them in the output's format. Both may be the same pointer. `exact`,
  // if not null, has the differences of integers that float64 cannot hold. Each array has room for
  // kBlock elements. The elements after the n-th, up to a multiple of simd::kMetricsLanes, are
  // overwritten.
  void add(double* actual, double* expected, double* rounded, std::size_t n, std::int64_t first,
           const IntegerErrors* exact);
  // Adds float32 values and does not write to them. Without simd::kPartTables they may be values of
  // any format whose values float32 can hold. For ulps, `expected` must be in the output's format.
  void add(const float* actual, const float* expected, std::size_t n, std::int64_t first);
  // Adds complex elements, each as two values with the real part first. The metrics are those of
  // magnitudes: |actual - expected| against |expected|. Metrics that need a sign or an order of the
  // values stay 0 or NaN (bias, error balance, ulps, small values). Does not write to the arrays.
  // `n` and `first` count elements.
  void add_complex(const double* actual, const double* expected, const double* rounded,
                   std::size_t n, std::int64_t first);
  // Facts about the last block.
  // - may_mismatch(): some element may exceed the bound. Always true if the rule is not plain, and
  //   without simd::kPartTables.
  // - met_special(): a side, or the rounded expected value, of some element is NaN or infinite.
  //   Without simd::kPartTables it may be true without such an element.
  // - nan_met_nan(): NaN met NaN.
  bool may_mismatch() const { return may_mismatch_; }
  bool met_special() const { return met_special_; }
  bool nan_met_nan() const { return nan_met_nan_; }
  // True if some expected value so far is not a value of the output's format.
  bool expected_rounds() const { return m_.expected_rounds; }
  // Records that the tensors differ in their bits. Call this if two NaN, or two complex elements,
  // have different bits.
  void bits_differ() { differs_ = true; }
  // Ends a part, and releases memory that is no longer needed. Call this after the last block of
  // the part.
  void finish();
  // Adds the part that follows this one. Both parts must be finished.
  void merge(const MetricsPass& later);
  Metrics result() const;  // returns the metrics of the pass, which must be finished
  // Returns the same metrics, but counts ulps only for elements that are finite on both sides, as
  // standards do. If the output's format makes NaN of such an expected value, the distance is
  // infinite.
  Metrics finite_result() const;
  // Returns how many of the elements that are finite on both sides are more than `ulps` ulps apart.
  // `ulps` is 1 or 32. The pass must have simd::kPartUlps and must not have simd::kPartTables,
  // which puts these numbers in a histogram. Returns nothing in other cases.
  std::optional<std::int64_t> over_ulps(double ulps) const;
  // Returns the errors for this quantile, or nullptr if they were not requested.
  const QuantileErrors* quantile(bool relative, double share) const;
  // Returns the root mean square of the expected values of elements that are finite on both sides,
  // or 0 if there are no such elements.
  double expected_rms() const;
  // Returns the largest error / bound of finite elements, as the tolerance rule compares them. It
  // is infinite if the rule is not plain, and without simd::kPartTables.
  double worst_ratio() const { return records_.ratio; }

 private:
  template <typename T>
  void take(const T* actual, const T* expected, const T* rounded, const double* errors,
            const std::uint64_t* distances, std::size_t n, std::int64_t first);
  // Does what add() does. `errors` holds the differences of the elements. `distances`, if not null,
  // holds their distances in ulps.
  void add_padded(double* actual, double* expected, double* rounded, std::size_t n,
                  std::int64_t first, const double* errors, const std::uint64_t* distances);
  void add_sums(const double* sums);  // adds the sums of a block
  // Counts an element with a side that is NaN or infinite, or rounds to NaN or infinity.
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
  bool differs_ = false, may_mismatch_ = false, met_special_ = false, nan_met_nan_ = false;
  std::array<Quad, simd::kMetricsSums> sums_{};
  // Sums of the blocks since finish(): as rounded by float64, and what the rounding lost.
  std::array<double, simd::kMetricsSums> rounded_sums_{}, rounding_{};
  std::vector<QuantileErrors> quantiles_;
  void empty_tables();
  // The kernel's counters. empty_tables() adds each counter that is not 0 to bins_, as (bin, count)
  // in order, and clears it.
  std::vector<std::uint16_t> tables_;
  std::vector<std::pair<std::size_t, std::int64_t>> bins_;
  std::int64_t in_tables_ = 0;
  // Lanes of elements without an error, a relative error or ulps. The kernel counted them in bin 0
  // of the table.
  std::int64_t no_error_ = 0, no_relative_ = 0, no_ulps_ = 0;
  // Elements that have ulps and an infinite side: how many of them are equal, and the bins and the
  // sum of the distances of the others.
  std::int64_t equal_infinities_ = 0;
  std::vector<std::pair<std::size_t, std::int64_t>> infinite_bins_;
  Quad infinite_ulps_ = 0;
  // Number of finite elements more than 1 ulp, and more than 32 ulps, apart. Counted only without
  // tables.
  std::int64_t over_1_ulp_ = 0, over_32_ulps_ = 0;
  // Finite elements whose expected value is NaN in the output's format.
  std::int64_t rounded_to_nan_ = 0;
};

// True if simd::Ordinals gives the order of a format's values. This holds for all floats except
// three kinds: tapered formats, scales, and formats that are as precise as float64 but have another
// range.
bool has_ordinals(const Format& format);
// Returns the ordinals of a format for which has_ordinals() is true. For other formats, only the
// smallest values are set.
simd::Ordinals ordinals_of(const Format& format);

inline constexpr auto kMetricsBlock = static_cast<std::int64_t>(MetricsPass::kBlock);

}  // namespace assay
