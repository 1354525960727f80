#include "assay/judge/metric_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <type_traits>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/exact.h"
#include "assay/judge/quantile_errors.h"
#include "assay/simd/metrics_kernel.h"

namespace assay::inline v0_2 {
namespace {

constexpr MetricValue exactly(double value) { return {value, value}; }

// Metrics::mean_ulps is a mean over all elements without NaN, but a statistic's mean is over the
// elements that are finite on both sides. The sum of the distances does not change, because two
// equal infinities are 0 ulps apart.
std::optional<MetricValue> mean_ulps(const StatisticSource& s, double, double) {
  const Metrics& m = *s.output;
  if (m.ulp_compared == m.compared) return exactly(m.mean_ulps);
  return exactly(m.mean_ulps * static_cast<double>(m.ulp_compared) /
                 static_cast<double>(m.compared));
}

MetricCount exactly(std::int64_t count) { return std::pair(count, count); }

MetricCount count_relative(const Metrics& m, double parameter, double) {
  if (!(parameter > 0)) return std::nullopt;
  // Elements whose expected value is 0 have no relative error. If they are off at all, they count.
  const auto at_zero = m.errors_at_zero;
  if (parameter == 1e-3) return exactly(m.rel_at_least_1e3 + at_zero);
  if (parameter == 1e-4) return exactly(m.rel_at_least_1e4 + at_zero);
  if (m.relative > 0 && m.rel_errors.total() == 0) return std::nullopt;
  const auto [fewest, most] = m.rel_errors.at_least(parameter);
  return std::pair(fewest + at_zero, most + at_zero);
}
MetricCount count_abs(const Metrics& m, double parameter, double) {
  if (!(parameter >= 0) || (m.compared > 0 && m.abs_errors.total() == 0)) return std::nullopt;
  // The histogram counts errors of at least a size. An error above the parameter is at least the
  // next float64.
  return m.abs_errors.at_least(std::nextafter(parameter, kInfinity));
}
MetricCount count_ulps(const Metrics& m, double parameter, double) {
  if (!(parameter >= 0) || (m.ulp_compared > 0 && m.ulps.total() == 0)) return std::nullopt;
  return m.ulps.at_least(std::floor(parameter) + 1);
}
MetricCount count_small(const Metrics& m, double parameter, double second) {
  const bool known = m.small_limit > 0 && parameter == m.small_limit && second == m.small_error;
  return known ? exactly(m.small_value_errors) : std::nullopt;
}

// Returns the output's error divided by that of the reference implementation. The divisor is at
// least `floor`, so that the output may have an error even if the reference implementation has
// none.
std::optional<MetricValue> over(const StatisticSource& s, double Metrics::*error, double floor) {
  if (s.reference_implementation == nullptr) return std::nullopt;
  const double own = s.output->*error;
  return exactly(own == 0 ? 0 : own / std::max(s.reference_implementation->*error, floor));
}

std::optional<MetricValue> small_errors(const StatisticSource& s, double parameter, double second) {
  const auto own = count_small(*s.output, parameter, second);
  if (!own) return std::nullopt;
  double other = 1;
  if (s.reference_implementation != nullptr) {
    const auto count = count_small(*s.reference_implementation, parameter, second);
    if (!count) return std::nullopt;
    other = static_cast<double>(std::max<std::int64_t>(count->first, 1));
  }
  return exactly(static_cast<double>(own->first) / other);
}

// Reads a quantile from a histogram. It lies between the lower end of the bin of the element below
// it and the upper end of the bin of the element above it.
template <Histogram Metrics::*kField>
std::optional<MetricValue> quantile(const StatisticSource& s, double q, double) {
  const Histogram& h = s.output->*kField;
  if (!(q >= 0 && q <= 1) || h.total() == 0) return std::nullopt;
  const double rank = q * static_cast<double>(h.total() - 1);
  return MetricValue{h.bin_of(static_cast<std::int64_t>(std::floor(rank))).low,
                     h.bin_of(static_cast<std::int64_t>(std::ceil(rank))).high};
}

// Returns nothing if the output has an error where 0 is expected, because the metrics have no
// finite relative error there.
std::optional<MetricValue> max_relative(const StatisticSource& s, double, double) {
  if (s.output->errors_at_zero > 0) return std::nullopt;
  return exactly(s.output->max_rel_error);
}
std::optional<MetricValue> mean_relative(const StatisticSource& s, double, double) {
  const Metrics& m = *s.output;
  if (m.errors_at_zero > 0) return std::nullopt;
  return exactly(m.mean_rel_error * static_cast<double>(m.relative) /
                 static_cast<double>(m.compared));
}

std::optional<MetricValue> error_balance(const StatisticSource& s, double, double) {
  return exactly(std::abs(s.output->error_balance));
}
std::optional<MetricValue> max_abs_ulps(const StatisticSource& s, double, double) {
  const double ulps = s.output->max_abs_ulps;
  return std::isnan(ulps) ? std::nullopt : std::optional(exactly(ulps));
}
template <double Metrics::*kError>
std::optional<MetricValue> over_roundoff(const StatisticSource& s, double, double) {
  return over(s, kError, s.roundoff);
}
std::optional<MetricValue> rmse_ratio(const StatisticSource& s, double, double) {
  return over(s, &Metrics::rmse, s.roundoff * s.expected_rms);
}

namespace rows {

using enum Statistic;
using enum LimitSense;
using Read = std::optional<MetricValue> (*)(const StatisticSource&, double, double);

constexpr unsigned kErrors = simd::kPartErrors, kFloored = kErrors | simd::kPartFloored,
                   kSquares = kErrors | simd::kPartSquares,
                   kRelative = kErrors | simd::kPartRelative, kCounts = kErrors | simd::kPartCounts;

constexpr MetricLimit limited(Statistic statistic, LimitSense sense, unsigned parts = kErrors,
                              Read read = nullptr) {
  return {.statistic = statistic, .sense = sense, .parts = parts, .read = read};
}
// The limit on the share of elements that `count` counts, such as those whose error exceeds a
// parameter.
constexpr MetricLimit share(Statistic statistic, LimitSense sense, unsigned parts,
                            MetricCount (*count)(const Metrics&, double, double)) {
  return {
      .statistic = statistic, .sense = sense, .parameters = 1, .parts = parts, .counted = count};
}
constexpr MetricLimit quantile_of(Statistic statistic, Read read) {
  return {.statistic = statistic,
          .sense = kAtMost,
          .parameters = 1,
          .parts = simd::kPartNone,
          .read = read};
}
constexpr MetricLimit ratio(Statistic statistic, unsigned parts, Read read) {
  return {.statistic = statistic,
          .sense = kAtMost,
          .over_reference = true,
          .parts = parts,
          .read = read};
}
constexpr MetricLimit ratio_of_large(Statistic statistic, double Metrics::*error) {
  return {.statistic = statistic,
          .sense = kAtMost,
          .parameters = 1,
          .over_reference = true,
          .of_large = error};
}

// Returns the row of a metric that is an error, so that the smaller value is the better one.
constexpr Metric error(std::string_view name, std::string_view words, MetricField field,
                       std::optional<MetricLimit> limit = {}, Merge merge = Merge::kNot) {
  return {.name = name,
          .words = words,
          .better = Better::kSmaller,
          .field = field,
          .limit = limit,
          .merge = merge};
}
constexpr Metric ulps(std::string_view name, std::string_view words, int digits, MetricField field,
                      std::optional<MetricLimit> limit = {}, Merge merge = Merge::kNot) {
  Metric metric = error(name, words, field, limit, merge);
  metric.digits = digits;
  metric.real_only = true;
  return metric;
}
constexpr Metric level(std::string_view name, std::string_view words, std::string_view unit,
                       int digits, MetricField field, std::optional<MetricLimit> limit = {}) {
  Metric metric = error(name, words, field, limit);
  metric.unit = unit;
  metric.better = Better::kLarger;
  metric.digits = digits;
  return metric;
}
constexpr Metric fact(std::string_view name, MetricField field, Merge merge = Merge::kNot,
                      bool real_only = false) {
  return {.name = name, .field = field, .real_only = real_only, .merge = merge};
}
constexpr Metric no_field(std::string_view name, std::string_view words, MetricLimit limit,
                          bool real_only = false) {
  return {.name = name, .words = words, .limit = limit, .real_only = real_only};
}

constexpr Metric kMetrics[] = {
    fact("compared", &Metrics::compared, Merge::kSum),
    fact("bit_identical", &Metrics::bit_identical),
    error("max_abs_error", "max abs error", &Metrics::max_abs_error, limited(kMaxAbs, kBelow)),
    fact("max_abs_index", &Metrics::max_abs_index),
    error("mean_abs_error", "mean abs error", &Metrics::mean_abs_error, limited(kMeanAbs, kAtMost)),
    error("median_abs_error", "median abs error", &Metrics::median_abs_error),
    error("p99_abs_error", "p99 abs error", &Metrics::p99_abs_error),
    fact("relative", &Metrics::relative, Merge::kSum),
    fact("errors_at_zero", &Metrics::errors_at_zero, Merge::kSum),
    error("max_rel_error", "max rel error", &Metrics::max_rel_error,
          limited(kMaxRelative, kAtMost, kRelative, max_relative)),
    fact("max_rel_index", &Metrics::max_rel_index),
    error("mean_rel_error", "mean rel error", &Metrics::mean_rel_error,
          limited(kMeanRelative, kAtMost, kRelative, mean_relative)),
    error("median_rel_error", "median rel error", &Metrics::median_rel_error),
    error("p99_rel_error", "p99 rel error", &Metrics::p99_rel_error),
    fact("rel_at_least_1e-3", &Metrics::rel_at_least_1e3, Merge::kSum),
    fact("rel_at_least_1e-4", &Metrics::rel_at_least_1e4, Merge::kSum),
    error("mere", "MERE", &Metrics::mere, limited(kMere, kBelow, kFloored)),
    error("mare", "MARE", &Metrics::mare, limited(kMare, kBelow, kFloored), Merge::kLargest),
    error("rmse", "RMSE", &Metrics::rmse, limited(kRmse, kAtMost, kSquares)),
    {.name = "bias", .words = "bias", .field = &Metrics::bias, .real_only = true},
    {.name = "error_balance",
     .words = "error balance",
     .field = &Metrics::error_balance,
     .limit = limited(kErrorBalance, kBelow, kRelative, error_balance),
     .real_only = true},
    error("max_balanced_error", "max balanced error", &Metrics::max_balanced_error, {},
          Merge::kLargest),
    fact("max_abs_expected", &Metrics::max_abs_expected, Merge::kLargest),
    fact("ulp_compared", &Metrics::ulp_compared, Merge::kSum, true),
    ulps("max_ulp", "max ulp", 4, &Metrics::max_ulps, {}, Merge::kLargest),
    ulps("mean_ulp", "mean ulp", 6, &Metrics::mean_ulps,
         limited(kMeanUlps, kBelow, simd::kPartUlps, mean_ulps)),
    ulps("p99_ulp", "p99 ulp", 6, &Metrics::p99_ulps),
    ulps("over_1_ulp", "elements over 1 ulp", 4, &Metrics::over_1_ulp),
    ulps("over_32_ulp", "elements over 32 ulp", 4, &Metrics::over_32_ulps),
    fact("small_limit", &Metrics::small_limit, Merge::kNot, true),
    fact("small_error", &Metrics::small_error, Merge::kNot, true),
    fact("small_values", &Metrics::small_values, Merge::kSum, true),
    fact("small_value_errors", &Metrics::small_value_errors, Merge::kSum, true),
    level("snr_db", "SNR", " dB", 4, &Metrics::snr_db),
    level("psnr_db", "PSNR", " dB", 4, &Metrics::psnr_db),
    level("cosine", "cosine", "", 9, &Metrics::cosine, limited(kCosine, kAbove, kSquares)),
    error("relative_l2", "relative L2", &Metrics::relative_l2),
    error("diff1", "diff1", &Metrics::diff1, limited(kDiff1, kAtMost)),
    error("diff2", "diff2", &Metrics::diff2, limited(kDiff2, kAtMost, kSquares)),
    error("deepgemm_diff", "DeepGEMM diff", &Metrics::deepgemm_diff,
          MetricLimit{.statistic = kCalcDiff,
                      .sense = kBelow,
                      .name = "calc_diff",
                      .words = "1 - 2 sum xy / sum (x^2 + y^2)",
                      .parts = kSquares}),
    fact("required_rtol", &Metrics::required_rtol),
    fact("required_atol", &Metrics::required_atol),
    fact("required_at_rtol", &Metrics::required_at_rtol),
    fact("required_at_atol", &Metrics::required_at_atol),
    fact("required_rounded", &Metrics::required_rounded),
    fact("expected_rounds", &Metrics::expected_rounds, Merge::kLargest),
    fact("both_nan", &Metrics::both_nan, Merge::kSum),
    fact("inf_mismatch", &Metrics::inf_mismatch, Merge::kSum),
    fact("actual", &Metrics::actual, Merge::kSum),
    fact("expected", &Metrics::expected, Merge::kSum),
    fact("abs_error_histogram", &Metrics::abs_errors),
    fact("rel_error_histogram", &Metrics::rel_errors),
    fact("ulp_histogram", &Metrics::ulps, Merge::kNot, true),
    // Statistics that are not fields of Metrics, because they have parameters or need a reference
    // implementation.
    no_field("share_relative", "share with relative error of at least {}",
             share(kShareRelative, kAtMost, kCounts, count_relative)),
    no_field("share_ulp", "share off by more than {} ulp",
             share(kShareUlps, kBelow, simd::kPartUlps, count_ulps), true),
    no_field("share_abs", "share off by more than {}",
             share(kShareAbs, kAtMost, simd::kAllParts, count_abs)),
    no_field("quantile_abs_error", "quantile {} of the abs error",
             quantile_of(kQuantileAbs, quantile<&Metrics::abs_errors>)),
    no_field("quantile_rel_error", "quantile {} of the rel error",
             quantile_of(kQuantileRelative, nullptr)),
    no_field("nmse", "sum of squared errors over that of the squared output",
             limited(kNmse, kAtMost)),
    no_field("max_abs_ulp", "max abs error in ulp of what is expected there",
             limited(kMaxAbsUlps, kAtMost, kErrors, max_abs_ulps), true),
    no_field("mare_ratio", "MARE over the reference implementation's",
             ratio(kMareRatio, kFloored, over_roundoff<&Metrics::mare>)),
    no_field("mere_ratio", "MERE over the reference implementation's",
             ratio(kMereRatio, kFloored, over_roundoff<&Metrics::mere>)),
    no_field("rmse_ratio", "RMSE over the reference implementation's",
             ratio(kRmseRatio, kSquares, rmse_ratio)),
    no_field("small_errors", "errors at |expected| < {} over the reference implementation's",
             {.statistic = kSmallErrors,
              .sense = kAtMost,
              .parameters = 2,
              .over_reference = true,
              .parts = kCounts,
              .counted = count_small,
              .read = small_errors},
             true),
    no_field("mare_ratio_from", "MARE over the reference implementation's where |expected| >= {}",
             ratio_of_large(kLargeMareRatio, &Metrics::mare), true),
    no_field("mere_ratio_from", "MERE over the reference implementation's where |expected| >= {}",
             ratio_of_large(kLargeMereRatio, &Metrics::mere), true),
    no_field("rmse_ratio_from", "RMSE over the reference implementation's where |expected| >= {}",
             ratio_of_large(kLargeRmseRatio, &Metrics::rmse), true),
    no_field("noise_ratio",
             "max abs error over twice the reference implementation's and twice the rounding of e "
             "+ 0.3 - 0.3",
             ratio(kNoiseRatio, kErrors, nullptr), true),
    no_field("error_squares", "squared errors over those expected",
             limited(kErrorSquares, kAtMost)),
    no_field("error_bias", "mean error towards or away from zero, in ulp,",
             limited(kErrorBias, kAtMost)),
};

}  // namespace rows

using rows::kMetrics;

template <typename Compare>
bool met(double value, double limit) {
  return Compare()(value, limit);
}

void merge_field(Tally& to, const Tally& more, Merge) {
  for (const auto count :
       {&Tally::nan, &Tally::positive_inf, &Tally::negative_inf, &Tally::zero, &Tally::subnormal}) {
    to.*count += more.*count;
  }
}
// Does nothing, because histograms are computed from the kernel's merged tables.
void merge_field(Histogram&, const Histogram&, Merge) {}
template <typename T>
void merge_field(T& to, const T& more, Merge how) {
  to = how == Merge::kSum ? static_cast<T>(to + more) : std::max(to, more);
}

}  // namespace

std::span<const LimitSenseRow> limit_senses() {
  static constexpr LimitSenseRow kRows[] = {
      {LimitSense::kBelow, "below", "<", met<std::less<>>},
      {LimitSense::kAtMost, "at_most", "<=", met<std::less_equal<>>},
      {LimitSense::kAbove, "above", ">", met<std::greater<>>},
      {LimitSense::kAtLeast, "at_least", ">=", met<std::greater_equal<>>}};
  return kRows;
}

const LimitSenseRow& row_of(LimitSense sense) {
  return limit_senses()[static_cast<std::size_t>(sense)];
}

bool same_direction(LimitSense a, LimitSense b) {
  const auto is_small = [](LimitSense s) {
    return s == LimitSense::kBelow || s == LimitSense::kAtMost;
  };
  return is_small(a) == is_small(b);
}

double Metric::value(const Metrics& m) const {
  return std::visit(
      [&](auto member) -> double {
        using Member = decltype(member);
        if constexpr (std::is_same_v<Member, std::uint64_t Metrics::*>) {
          return not_below(m.*member);
        } else if constexpr (std::is_same_v<Member, double Metrics::*> ||
                             std::is_same_v<Member, std::int64_t Metrics::*>) {
          return static_cast<double>(m.*member);
        } else {
          return kNan;
        }
      },
      field);
}

std::string Metric::text(const Metrics& m) const {
  if (real_only && m.is_complex) return "-";
  if (const auto* count = std::get_if<std::uint64_t Metrics::*>(&field)) {
    return formatted("{}{}", m.*(*count), unit);
  }
  if (const auto* count = std::get_if<std::int64_t Metrics::*>(&field)) {
    return grouped(m.*(*count)) + std::string(unit);
  }
  return text(value(m));
}

std::string Metric::text(double value) const {
  return short_number(value, digits) + std::string(unit);
}

std::string Metric::heading() const { return std::string(words) + std::string(unit); }

std::string Metric::cell(const Metrics& m) const {
  if (real_only && m.is_complex) return "-";
  if (const auto* count = std::get_if<std::uint64_t Metrics::*>(&field)) {
    return std::to_string(m.*(*count));
  }
  return short_number(value(m));
}

std::span<const Metric> metric_table() { return kMetrics; }

const Metric* find_metric(std::string_view name) { return find_row(kMetrics, name, &Metric::name); }

const Metric& metric_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) {
    if (metric.better == Better::kNeither) continue;
    if (metric.name == name) return metric;
    names.emplace_back(metric.name);
  }
  refuse(unknown_word("metric", name, names));
}

const Metric& metric_of(Statistic statistic) {
  return *std::ranges::find_if(kMetrics, [&](const Metric& metric) {
    return metric.limit && metric.limit->statistic == statistic;
  });
}

std::string_view statistic_name(Statistic statistic) {
  const Metric& metric = metric_of(statistic);
  return metric.limit->name.empty() ? metric.name : metric.limit->name;
}

std::optional<Statistic> find_statistic(std::string_view name) {
  const std::vector<std::string> names = statistic_names();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Statistic>(found - names.begin());
}

std::vector<std::string> statistic_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kStatisticCount; ++i) {
    names.emplace_back(statistic_name(static_cast<Statistic>(i)));
  }
  return names;
}

MetricCount counted(const Metrics& m, Statistic statistic, double parameter, double second) {
  const auto count = metric_of(statistic).limit->counted;
  return count == nullptr ? std::nullopt : count(m, parameter, second);
}

void merge(Metrics& m, const Metrics& later) {
  if (later.max_abs_error > m.max_abs_error) {
    m.max_abs_error = later.max_abs_error;
    m.max_abs_index = later.max_abs_index;
    m.max_abs_ulps = later.max_abs_ulps;
  }
  if (later.max_rel_error > m.max_rel_error) {
    m.max_rel_error = later.max_rel_error;
    m.max_rel_index = later.max_rel_index;
  }
  for (const Metric& metric : kMetrics) {
    if (metric.merge == Merge::kNot) continue;
    std::visit(
        [&](auto member) {
          if constexpr (!std::is_same_v<decltype(member), std::monostate>) {
            merge_field(m.*member, later.*member, metric.merge);
          }
        },
        metric.field);
  }
}

std::optional<MetricValue> read_statistic(const StatisticSource& source, Statistic statistic,
                                          double parameter, double second) {
  const Metrics& m = *source.output;
  if (m.compared == 0) return std::nullopt;
  const Metric& metric = metric_of(statistic);
  if (metric.limit->read != nullptr) return metric.limit->read(source, parameter, second);
  if (const auto count = counted(m, statistic, parameter, second)) {
    const auto n = static_cast<double>(m.compared);
    return MetricValue{static_cast<double>(count->first) / n,
                       static_cast<double>(count->second) / n};
  }
  if (std::holds_alternative<std::monostate>(metric.field)) return std::nullopt;
  return exactly(metric.value(m));
}

std::optional<double> trivial_statistic(const StatisticSource& source, int times,
                                        Statistic statistic, double parameter, double second) {
  const Metrics& m = *source.output;
  if (m.compared == 0) return 0;
  const double largest = m.max_abs_expected;
  const double some = largest > 0 ? 1 : 0;
  Metrics trivial;
  trivial.compared = m.compared;
  trivial.max_abs_error = times * largest;
  trivial.mare = trivial.max_abs_error / (largest + 1e-7);
  trivial.rmse = times * source.expected_rms;
  trivial.diff1 = trivial.diff2 = trivial.deepgemm_diff = times * some;
  trivial.cosine = some == 0 ? 1 : 1 - times;
  trivial.relative = m.relative;
  trivial.max_rel_error = trivial.mean_rel_error = m.relative > 0 ? times : 0;
  trivial.ulp_compared = m.compared;
  // The sums of the expected values do not give these metrics, so they stay unknown.
  trivial.mean_abs_error = trivial.mere = trivial.error_balance = trivial.mean_ulps = kNan;
  switch (statistic) {
    case Statistic::kNmse:
      // The sum of squares of zeros is 0. The errors of the negated output are twice the output.
      return some == 0 ? 0 : times == 1 ? kInfinity : 4;
    case Statistic::kShareRelative: {
      // The errors are `times` the expected values. So the relative error is `times` at every
      // element whose expected value is not 0.
      const std::int64_t count = times < parameter ? 0 : m.relative;
      return static_cast<double>(count) / static_cast<double>(m.compared);
    }
    case Statistic::kQuantileRelative: {
      // The relative error is `times`, or 0 if 0 is expected.
      const QuantileRank rank(parameter, m.compared);
      const auto error_at = [&](std::int64_t at) {
        return at < m.compared - m.relative ? 0.0 : times;
      };
      return rank.between({error_at(rank.below), error_at(rank.below + 1)});
    }
    default: {
      StatisticSource of_trivial = source;
      of_trivial.output = &trivial;
      const auto value = read_statistic(of_trivial, statistic, parameter, second);
      return value && !std::isnan(value->low) ? std::optional(value->low) : std::nullopt;
    }
  }
}

}  // namespace assay
