#include "assay/judge/metric_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/exact.h"
#include "assay/judge/quantile_errors.h"

namespace assay {
namespace {

constexpr MetricValue exactly(double value) { return {value, value}; }

// The mean distance is kept over elements without NaN; a pair of equal infinities is 0 apart.
std::optional<MetricValue> mean_ulps(const StatisticSource& s, double, double) {
  const Metrics& m = *s.output;
  if (m.ulp_compared == m.compared) return exactly(m.mean_ulps);
  return exactly(m.mean_ulps * static_cast<double>(m.ulp_compared) /
                 static_cast<double>(m.compared));
}

template <Statistic kStatistic>
std::optional<MetricValue> share(const StatisticSource& s, double parameter, double second) {
  const auto count = counted(*s.output, kStatistic, parameter, second);
  if (!count) return std::nullopt;
  const auto n = static_cast<double>(s.output->compared);
  return MetricValue{static_cast<double>(count->first) / n, static_cast<double>(count->second) / n};
}

// The benchmark's own error is floored: one that happens to be exact asks for no exact output.
std::optional<MetricValue> over(const StatisticSource& s, double Metrics::*error, double floor) {
  if (s.benchmark == nullptr) return std::nullopt;
  const double own = s.output->*error;
  return exactly(own == 0 ? 0 : own / std::max(s.benchmark->*error, floor));
}

std::optional<MetricValue> small_errors(const StatisticSource& s, double parameter, double second) {
  const auto own = counted(*s.output, Statistic::kSmallErrors, parameter, second);
  if (!own) return std::nullopt;
  double other = 1;
  if (s.benchmark != nullptr) {
    const auto count = counted(*s.benchmark, Statistic::kSmallErrors, parameter, second);
    if (!count) return std::nullopt;
    other = static_cast<double>(std::max<std::int64_t>(count->first, 1));
  }
  return exactly(static_cast<double>(own->first) / other);
}

// Of what elements alone tell.
std::optional<MetricValue> not_of_metrics(const StatisticSource&, double, double) {
  return std::nullopt;
}

// Between the lower end of the bin of the element below the quantile and the upper end of that
// above.
template <Histogram Metrics::*kField>
std::optional<MetricValue> quantile(const StatisticSource& s, double q, double) {
  const Histogram& h = s.output->*kField;
  if (!(q >= 0 && q <= 1) || h.total() == 0) return std::nullopt;
  const double rank = q * static_cast<double>(h.total() - 1);
  return MetricValue{h.bin_of(static_cast<std::int64_t>(std::floor(rank))).low,
                     h.bin_of(static_cast<std::int64_t>(std::ceil(rank))).high};
}

// Of errors where 0 is expected the metrics know no relative size.
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

constexpr Metric kMetrics[] = {
    {.name = "compared", .field = &Metrics::compared},
    {.name = "bit_identical", .field = &Metrics::bit_identical},
    {.name = "max_abs_error",
     .words = "max abs error",
     .better = Better::kSmaller,
     .field = &Metrics::max_abs_error,
     .limit = MetricLimit{.statistic = Statistic::kMaxAbs, .sense = LimitSense::kBelow}},
    {.name = "max_abs_index", .field = &Metrics::max_abs_index},
    {.name = "mean_abs_error",
     .words = "mean abs error",
     .better = Better::kSmaller,
     .field = &Metrics::mean_abs_error,
     .limit = MetricLimit{.statistic = Statistic::kMeanAbs, .sense = LimitSense::kAtMost}},
    {.name = "median_abs_error",
     .words = "median abs error",
     .better = Better::kSmaller,
     .field = &Metrics::median_abs_error},
    {.name = "p99_abs_error",
     .words = "p99 abs error",
     .better = Better::kSmaller,
     .field = &Metrics::p99_abs_error},
    {.name = "relative", .field = &Metrics::relative},
    {.name = "errors_at_zero", .field = &Metrics::errors_at_zero},
    {.name = "max_rel_error",
     .words = "max rel error",
     .better = Better::kSmaller,
     .field = &Metrics::max_rel_error,
     .limit = MetricLimit{.statistic = Statistic::kMaxRelative,
                          .sense = LimitSense::kAtMost,
                          .read = max_relative}},
    {.name = "max_rel_index", .field = &Metrics::max_rel_index},
    {.name = "mean_rel_error",
     .words = "mean rel error",
     .better = Better::kSmaller,
     .field = &Metrics::mean_rel_error,
     .limit = MetricLimit{.statistic = Statistic::kMeanRelative,
                          .sense = LimitSense::kAtMost,
                          .read = mean_relative}},
    {.name = "median_rel_error",
     .words = "median rel error",
     .better = Better::kSmaller,
     .field = &Metrics::median_rel_error},
    {.name = "p99_rel_error",
     .words = "p99 rel error",
     .better = Better::kSmaller,
     .field = &Metrics::p99_rel_error},
    {.name = "rel_at_least_1e-3", .field = &Metrics::rel_at_least_1e3},
    {.name = "rel_at_least_1e-4", .field = &Metrics::rel_at_least_1e4},
    {.name = "mere",
     .words = "MERE",
     .better = Better::kSmaller,
     .field = &Metrics::mere,
     .limit = MetricLimit{.statistic = Statistic::kMere, .sense = LimitSense::kBelow}},
    {.name = "mare",
     .words = "MARE",
     .better = Better::kSmaller,
     .field = &Metrics::mare,
     .limit = MetricLimit{.statistic = Statistic::kMare, .sense = LimitSense::kBelow}},
    {.name = "rmse",
     .words = "RMSE",
     .better = Better::kSmaller,
     .field = &Metrics::rmse,
     .limit = MetricLimit{.statistic = Statistic::kRmse, .sense = LimitSense::kAtMost}},
    {.name = "bias", .words = "bias", .field = &Metrics::bias, .real_only = true},
    {.name = "error_balance",
     .words = "error balance",
     .field = &Metrics::error_balance,
     .limit = MetricLimit{.statistic = Statistic::kErrorBalance,
                          .sense = LimitSense::kBelow,
                          .read = [](const StatisticSource& s, double,
                                     double) -> std::optional<MetricValue> {
                            return exactly(std::abs(s.output->error_balance));
                          }},
     .real_only = true},
    {.name = "max_balanced_error",
     .words = "max balanced error",
     .better = Better::kSmaller,
     .field = &Metrics::max_balanced_error},
    {.name = "max_abs_expected", .field = &Metrics::max_abs_expected},
    {.name = "ulp_compared", .field = &Metrics::ulp_compared, .real_only = true},
    {.name = "max_ulp",
     .words = "max ulp",
     .better = Better::kSmaller,
     .field = &Metrics::max_ulps,
     .real_only = true},
    {.name = "mean_ulp",
     .words = "mean ulp",
     .better = Better::kSmaller,
     .digits = 6,
     .field = &Metrics::mean_ulps,
     .limit =
         MetricLimit{
             .statistic = Statistic::kMeanUlps, .sense = LimitSense::kBelow, .read = mean_ulps},
     .real_only = true},
    {.name = "p99_ulp",
     .words = "p99 ulp",
     .better = Better::kSmaller,
     .digits = 6,
     .field = &Metrics::p99_ulps,
     .real_only = true},
    {.name = "over_1_ulp",
     .words = "elements over 1 ulp",
     .better = Better::kSmaller,
     .field = &Metrics::over_1_ulp,
     .real_only = true},
    {.name = "over_32_ulp",
     .words = "elements over 32 ulp",
     .better = Better::kSmaller,
     .field = &Metrics::over_32_ulps,
     .real_only = true},
    {.name = "small_limit", .field = &Metrics::small_limit, .real_only = true},
    {.name = "small_error", .field = &Metrics::small_error, .real_only = true},
    {.name = "small_values", .field = &Metrics::small_values, .real_only = true},
    {.name = "small_value_errors", .field = &Metrics::small_value_errors, .real_only = true},
    {.name = "snr_db",
     .words = "SNR",
     .unit = " dB",
     .better = Better::kLarger,
     .field = &Metrics::snr_db},
    {.name = "psnr_db",
     .words = "PSNR",
     .unit = " dB",
     .better = Better::kLarger,
     .field = &Metrics::psnr_db},
    {.name = "cosine",
     .words = "cosine",
     .better = Better::kLarger,
     .digits = 9,
     .field = &Metrics::cosine,
     .limit = MetricLimit{.statistic = Statistic::kCosine, .sense = LimitSense::kAbove}},
    {.name = "relative_l2",
     .words = "relative L2",
     .better = Better::kSmaller,
     .field = &Metrics::relative_l2},
    {.name = "diff1",
     .words = "diff1",
     .better = Better::kSmaller,
     .field = &Metrics::diff1,
     .limit = MetricLimit{.statistic = Statistic::kDiff1, .sense = LimitSense::kAtMost}},
    {.name = "diff2",
     .words = "diff2",
     .better = Better::kSmaller,
     .field = &Metrics::diff2,
     .limit = MetricLimit{.statistic = Statistic::kDiff2, .sense = LimitSense::kAtMost}},
    {.name = "deepgemm_diff",
     .words = "DeepGEMM diff",
     .better = Better::kSmaller,
     .field = &Metrics::deepgemm_diff,
     .limit = MetricLimit{.statistic = Statistic::kCalcDiff,
                          .sense = LimitSense::kBelow,
                          .name = "calc_diff",
                          .words = "1 - 2 sum xy / sum (x^2 + y^2)"}},
    {.name = "required_rtol", .field = &Metrics::required_rtol},
    {.name = "required_atol", .field = &Metrics::required_atol},
    {.name = "required_at_rtol", .field = &Metrics::required_at_rtol},
    {.name = "required_at_atol", .field = &Metrics::required_at_atol},
    {.name = "required_rounded", .field = &Metrics::required_rounded},
    {.name = "expected_rounds", .field = &Metrics::expected_rounds},
    {.name = "both_nan", .field = &Metrics::both_nan},
    {.name = "inf_mismatch", .field = &Metrics::inf_mismatch},
    {.name = "actual", .field = &Metrics::actual},
    {.name = "expected", .field = &Metrics::expected},
    {.name = "abs_error_histogram", .field = &Metrics::abs_errors},
    {.name = "rel_error_histogram", .field = &Metrics::rel_errors},
    {.name = "ulp_histogram", .field = &Metrics::ulps, .real_only = true},
    // What is no field of Metrics, for it has parameters or needs a benchmark.
    {.name = "share_relative",
     .words = "share with relative error of at least {}",
     .limit = MetricLimit{.statistic = Statistic::kShareRelative,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .read = share<Statistic::kShareRelative>}},
    {.name = "share_ulp",
     .words = "share off by more than {} ulp",
     .limit = MetricLimit{.statistic = Statistic::kShareUlps,
                          .sense = LimitSense::kBelow,
                          .parameters = 1,
                          .read = share<Statistic::kShareUlps>},
     .real_only = true},
    {.name = "share_abs",
     .words = "share off by more than {}",
     .limit = MetricLimit{.statistic = Statistic::kShareAbs,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .read = share<Statistic::kShareAbs>}},
    {.name = "quantile_abs_error",
     .words = "quantile {} of the abs error",
     .limit = MetricLimit{.statistic = Statistic::kQuantileAbs,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .read = quantile<&Metrics::abs_errors>}},
    {.name = "quantile_rel_error",
     .words = "quantile {} of the rel error",
     .limit = MetricLimit{.statistic = Statistic::kQuantileRelative,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .read = not_of_metrics}},
    {.name = "nmse",
     .words = "sum of squared errors over that of the squared output",
     .limit =
         MetricLimit{
             .statistic = Statistic::kNmse, .sense = LimitSense::kAtMost, .read = not_of_metrics}},
    {.name = "max_abs_ulp",
     .words = "max abs error in ulp of what is expected there",
     .limit = MetricLimit{.statistic = Statistic::kMaxAbsUlps,
                          .sense = LimitSense::kAtMost,
                          .read = [](const StatisticSource& s, double,
                                     double) -> std::optional<MetricValue> {
                            const double ulps = s.output->max_abs_ulps;
                            if (std::isnan(ulps)) return std::nullopt;
                            return MetricValue{ulps, ulps};
                          }},
     .real_only = true},
    {.name = "mare_ratio",
     .words = "MARE over the benchmark's",
     .limit = MetricLimit{.statistic = Statistic::kMareRatio,
                          .sense = LimitSense::kAtMost,
                          .over_benchmark = true,
                          .read = [](const StatisticSource& s, double,
                                     double) { return over(s, &Metrics::mare, s.roundoff); }}},
    {.name = "mere_ratio",
     .words = "MERE over the benchmark's",
     .limit = MetricLimit{.statistic = Statistic::kMereRatio,
                          .sense = LimitSense::kAtMost,
                          .over_benchmark = true,
                          .read = [](const StatisticSource& s, double,
                                     double) { return over(s, &Metrics::mere, s.roundoff); }}},
    {.name = "rmse_ratio",
     .words = "RMSE over the benchmark's",
     .limit = MetricLimit{.statistic = Statistic::kRmseRatio,
                          .sense = LimitSense::kAtMost,
                          .over_benchmark = true,
                          .read =
                              [](const StatisticSource& s, double, double) {
                                return over(s, &Metrics::rmse, s.roundoff * s.expected_rms);
                              }}},
    {.name = "small_errors",
     .words = "errors at |expected| < {} over the benchmark's",
     .limit = MetricLimit{.statistic = Statistic::kSmallErrors,
                          .sense = LimitSense::kAtMost,
                          .parameters = 2,
                          .over_benchmark = true,
                          .read = small_errors},
     .real_only = true},
    {.name = "mare_ratio_from",
     .words = "MARE over the benchmark's where |expected| >= {}",
     .limit = MetricLimit{.statistic = Statistic::kLargeMareRatio,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .over_benchmark = true,
                          .read = not_of_metrics},
     .real_only = true},
    {.name = "mere_ratio_from",
     .words = "MERE over the benchmark's where |expected| >= {}",
     .limit = MetricLimit{.statistic = Statistic::kLargeMereRatio,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .over_benchmark = true,
                          .read = not_of_metrics},
     .real_only = true},
    {.name = "rmse_ratio_from",
     .words = "RMSE over the benchmark's where |expected| >= {}",
     .limit = MetricLimit{.statistic = Statistic::kLargeRmseRatio,
                          .sense = LimitSense::kAtMost,
                          .parameters = 1,
                          .over_benchmark = true,
                          .read = not_of_metrics},
     .real_only = true},
    {.name = "noise_ratio",
     .words = "max abs error over twice the benchmark's and twice the rounding of e + 0.3 - 0.3",
     .limit = MetricLimit{.statistic = Statistic::kNoiseRatio,
                          .sense = LimitSense::kAtMost,
                          .over_benchmark = true,
                          .read = not_of_metrics},
     .real_only = true},
    {.name = "error_squares",
     .words = "squared errors over those expected",
     .limit = MetricLimit{.statistic = Statistic::kErrorSquares,
                          .sense = LimitSense::kAtMost,
                          .read = not_of_metrics}},
    {.name = "error_bias",
     .words = "mean error towards or away from zero, in ulp,",
     .limit = MetricLimit{.statistic = Statistic::kErrorBias,
                          .sense = LimitSense::kAtMost,
                          .read = not_of_metrics}},
};

}  // namespace

std::span<const LimitSenseRow> limit_senses() {
  static constexpr LimitSenseRow kRows[] = {
      {.sense = LimitSense::kBelow,
       .name = "below",
       .sign = "<",
       .met = [](double value, double limit) { return value < limit; }},
      {.sense = LimitSense::kAtMost,
       .name = "at_most",
       .sign = "<=",
       .met = [](double value, double limit) { return value <= limit; }},
      {.sense = LimitSense::kAbove,
       .name = "above",
       .sign = ">",
       .met = [](double value, double limit) { return value > limit; }},
      {.sense = LimitSense::kAtLeast,
       .name = "at_least",
       .sign = ">=",
       .met = [](double value, double limit) { return value >= limit; }}};
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
          return std::numeric_limits<double>::quiet_NaN();
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

const Metric* find_metric(std::string_view name) {
  const auto* found = std::find_if(std::begin(kMetrics), std::end(kMetrics),
                                   [&](const Metric& metric) { return metric.name == name; });
  return found == std::end(kMetrics) ? nullptr : found;
}

const Metric& metric_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Metric& metric : kMetrics) {
    if (metric.better == Better::kNeither) continue;
    if (metric.name == name) return metric;
    names.emplace_back(metric.name);
  }
  throw std::invalid_argument(unknown_word("metric", name, names));
}

const Metric& metric_of(Statistic statistic) {
  return *std::find_if(std::begin(kMetrics), std::end(kMetrics), [&](const Metric& metric) {
    return metric.limit && metric.limit->statistic == statistic;
  });
}

std::string_view statistic_name(Statistic statistic) {
  const Metric& metric = metric_of(statistic);
  return metric.limit->name.empty() ? metric.name : metric.limit->name;
}

std::optional<Statistic> find_statistic(std::string_view name) {
  for (int i = 0; i < kStatisticCount; ++i) {
    const auto statistic = static_cast<Statistic>(i);
    if (statistic_name(statistic) == name) return statistic;
  }
  return std::nullopt;
}

std::vector<std::string> statistic_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kStatisticCount; ++i) {
    names.emplace_back(statistic_name(static_cast<Statistic>(i)));
  }
  return names;
}

std::optional<std::pair<std::int64_t, std::int64_t>> counted(const Metrics& m, Statistic statistic,
                                                             double parameter, double second) {
  const auto exactly = [](std::int64_t count) { return std::pair(count, count); };
  switch (statistic) {
    case Statistic::kShareRelative: {
      if (!(parameter > 0)) return std::nullopt;
      // Elements whose expected value is 0 have no relative error: off by anything, they count.
      const auto at_zero = m.errors_at_zero;
      if (parameter == 1e-3) return exactly(m.rel_at_least_1e3 + at_zero);
      if (parameter == 1e-4) return exactly(m.rel_at_least_1e4 + at_zero);
      if (m.relative > 0 && m.rel_errors.total() == 0) return std::nullopt;
      const auto [fewest, most] = m.rel_errors.at_least(parameter);
      return std::pair(fewest + at_zero, most + at_zero);
    }
    case Statistic::kShareAbs: {
      if (!(parameter >= 0) || (m.compared > 0 && m.abs_errors.total() == 0)) return std::nullopt;
      // More than the parameter: at least the next number.
      return m.abs_errors.at_least(
          std::nextafter(parameter, std::numeric_limits<double>::infinity()));
    }
    case Statistic::kShareUlps:
      if (!(parameter >= 0) || (m.ulp_compared > 0 && m.ulps.total() == 0)) return std::nullopt;
      return m.ulps.at_least(std::floor(parameter) + 1);
    case Statistic::kSmallErrors:
      if (!(m.small_limit > 0 && parameter == m.small_limit && second == m.small_error)) {
        return std::nullopt;
      }
      return exactly(m.small_value_errors);
    default:
      return std::nullopt;
  }
}

std::optional<MetricValue> read_statistic(const StatisticSource& source, Statistic statistic,
                                          double parameter, double second) {
  if (source.output->compared == 0) return std::nullopt;
  const Metric& metric = metric_of(statistic);
  if (metric.limit->read == nullptr) return exactly(metric.value(*source.output));
  return metric.limit->read(source, parameter, second);
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
  switch (statistic) {
    case Statistic::kMare:
    case Statistic::kMaxAbs:
    case Statistic::kDiff1:
    case Statistic::kDiff2:
    case Statistic::kCosine:
    case Statistic::kCalcDiff:
    case Statistic::kMaxRelative:
    case Statistic::kMeanRelative:
    case Statistic::kRmse:
    case Statistic::kMareRatio:
    case Statistic::kRmseRatio: {
      StatisticSource of_trivial = source;
      of_trivial.output = &trivial;
      const auto value = read_statistic(of_trivial, statistic, parameter, second);
      if (!value) return std::nullopt;
      return value->low;
    }
    case Statistic::kNmse:
      // Of zeros the output has no squares; of the negated one the errors are twice the output.
      return some == 0 ? 0 : times == 1 ? std::numeric_limits<double>::infinity() : 4;
    case Statistic::kShareRelative: {
      // The relative error is `times` wherever the expected value is not 0.
      const std::int64_t count = times < parameter ? 0 : m.relative;
      return static_cast<double>(count) / static_cast<double>(m.compared);
    }
    case Statistic::kQuantileRelative: {
      // The same, and 0 elsewhere.
      const QuantileRank rank(parameter, m.compared);
      const auto error_at = [&](std::int64_t at) {
        return at < m.compared - m.relative ? 0.0 : times;
      };
      return rank.between({error_at(rank.below), error_at(rank.below + 1)});
    }
    default:
      return std::nullopt;
  }
}

}  // namespace assay
