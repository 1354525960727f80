// Compares every word, number and flag of the table of metrics with tests/judge/metric_rows.txt.
// Also tests which field of Metrics each row reads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/metric_table.h"
#include "recorded.h"

namespace assay {
namespace {

TEST(MetricRows, SayWhatTheySaidOnceRead) {
  std::vector<std::string> lines;
  for (const Metric& m : metric_table()) {
    std::string line = formatted("{}: '{}'", m.name, m.words);
    if (!m.unit.empty()) line += formatted(", unit '{}'", m.unit);
    if (m.better != Better::kNeither) {
      line += m.better == Better::kSmaller ? ", better where smaller" : ", better where larger";
    }
    line += formatted(", {} digits", m.digits);
    if (m.real_only) line += ", of real numbers";
    if (m.limit) {
      const MetricLimit& l = *m.limit;
      line += formatted("; limit {} {}", statistic_name(l.statistic), row_of(l.sense).name);
      if (!l.words.empty()) line += formatted(", words '{}'", l.words);
      line += formatted(", {} parameters", l.parameters);
      if (l.over_reference) line += ", over a reference implementation's";
    }
    lines.push_back(line);
  }
  expect_recorded("judge/metric_rows.txt", lines);
}

TEST(MetricRows, ReadTheirOwnField) {
  const std::pair<const char*, MetricField> fields[] = {
      {"compared", &Metrics::compared},
      {"bit_identical", &Metrics::bit_identical},
      {"max_abs_error", &Metrics::max_abs_error},
      {"max_abs_index", &Metrics::max_abs_index},
      {"mean_abs_error", &Metrics::mean_abs_error},
      {"median_abs_error", &Metrics::median_abs_error},
      {"p99_abs_error", &Metrics::p99_abs_error},
      {"relative", &Metrics::relative},
      {"errors_at_zero", &Metrics::errors_at_zero},
      {"max_rel_error", &Metrics::max_rel_error},
      {"max_rel_index", &Metrics::max_rel_index},
      {"mean_rel_error", &Metrics::mean_rel_error},
      {"median_rel_error", &Metrics::median_rel_error},
      {"p99_rel_error", &Metrics::p99_rel_error},
      {"rel_at_least_1e-3", &Metrics::rel_at_least_1e3},
      {"rel_at_least_1e-4", &Metrics::rel_at_least_1e4},
      {"mere", &Metrics::mere},
      {"mare", &Metrics::mare},
      {"rmse", &Metrics::rmse},
      {"bias", &Metrics::bias},
      {"error_balance", &Metrics::error_balance},
      {"max_balanced_error", &Metrics::max_balanced_error},
      {"max_abs_expected", &Metrics::max_abs_expected},
      {"ulp_compared", &Metrics::ulp_compared},
      {"max_ulp", &Metrics::max_ulps},
      {"mean_ulp", &Metrics::mean_ulps},
      {"p99_ulp", &Metrics::p99_ulps},
      {"over_1_ulp", &Metrics::over_1_ulp},
      {"over_32_ulp", &Metrics::over_32_ulps},
      {"small_limit", &Metrics::small_limit},
      {"small_error", &Metrics::small_error},
      {"small_values", &Metrics::small_values},
      {"small_value_errors", &Metrics::small_value_errors},
      {"snr_db", &Metrics::snr_db},
      {"psnr_db", &Metrics::psnr_db},
      {"cosine", &Metrics::cosine},
      {"relative_l2", &Metrics::relative_l2},
      {"diff1", &Metrics::diff1},
      {"diff2", &Metrics::diff2},
      {"deepgemm_diff", &Metrics::deepgemm_diff},
      {"required_rtol", &Metrics::required_rtol},
      {"required_atol", &Metrics::required_atol},
      {"required_at_rtol", &Metrics::required_at_rtol},
      {"required_at_atol", &Metrics::required_at_atol},
      {"required_rounded", &Metrics::required_rounded},
      {"expected_rounds", &Metrics::expected_rounds},
      {"both_nan", &Metrics::both_nan},
      {"inf_mismatch", &Metrics::inf_mismatch},
      {"actual", &Metrics::actual},
      {"expected", &Metrics::expected},
      {"abs_error_histogram", &Metrics::abs_errors},
      {"rel_error_histogram", &Metrics::rel_errors},
      {"ulp_histogram", &Metrics::ulps},
  };
  std::size_t at = 0;
  for (const Metric& metric : metric_table()) {
    if (at == std::size(fields)) {
      EXPECT_TRUE(std::holds_alternative<std::monostate>(metric.field)) << metric.name;
      continue;
    }
    EXPECT_EQ(metric.name, fields[at].first);
    EXPECT_TRUE(metric.field == fields[at].second) << metric.name;
    ++at;
  }
  EXPECT_EQ(at, std::size(fields));
}

TEST(MetricRows, SensesAtTheirLimit) {
  struct {
    LimitSense sense;
    const char *name, *sign;
    bool below, at, above;
  } const rows[] = {{LimitSense::kBelow, "below", "<", true, false, false},
                    {LimitSense::kAtMost, "at_most", "<=", true, true, false},
                    {LimitSense::kAbove, "above", ">", false, false, true},
                    {LimitSense::kAtLeast, "at_least", ">=", false, true, true}};
  for (const auto& row : rows) {
    const LimitSenseRow& own = row_of(row.sense);
    EXPECT_EQ(own.sense, row.sense);
    EXPECT_EQ(own.name, row.name);
    EXPECT_EQ(own.sign, row.sign);
    EXPECT_EQ(own.met(std::nextafter(2.0, 0.0), 2), row.below) << row.name;
    EXPECT_EQ(own.met(2, 2), row.at) << row.name;
    EXPECT_EQ(own.met(std::nextafter(2.0, 3.0), 2), row.above) << row.name;
    EXPECT_FALSE(own.met(std::numeric_limits<double>::quiet_NaN(), 2)) << row.name;
  }
}

// Tests a number of each kind, as texts and tables show it.
TEST(MetricRows, TextsOfTheirNumbers) {
  Metrics m;
  m.max_ulps = 1234567;
  m.compared = 1234567;
  m.max_abs_error = m.mean_ulps = m.cosine = m.snr_db = 1.23456789012;
  EXPECT_EQ(find_metric("max_ulp")->text(m), "1234567");
  EXPECT_EQ(find_metric("max_ulp")->cell(m), "1234567");
  EXPECT_EQ(find_metric("compared")->text(m), "1 234 567");
  EXPECT_EQ(find_metric("compared")->cell(m), "1.23e+06");
  EXPECT_EQ(find_metric("max_abs_error")->text(m), "1.235");
  EXPECT_EQ(find_metric("max_abs_error")->cell(m), "1.23");
  EXPECT_EQ(find_metric("mean_ulp")->text(m), "1.23457");
  EXPECT_EQ(find_metric("cosine")->text(m), "1.23456789");
  EXPECT_EQ(find_metric("snr_db")->text(m), "1.235 dB");
  EXPECT_EQ(find_metric("snr_db")->heading(), "SNR dB");
  EXPECT_TRUE(std::isnan(find_metric("actual")->value(m)));
  EXPECT_TRUE(std::isnan(find_metric("bit_identical")->value(m)));
  m.is_complex = true;
  EXPECT_EQ(find_metric("max_ulp")->text(m), "-");
  EXPECT_EQ(find_metric("max_ulp")->cell(m), "-");
  EXPECT_EQ(find_metric("cosine")->cell(m), "1.23");
}

// Tests the statistics that two trivial outputs would have: zeros (`times` 1), and the negated
// expected values (`times` 2). The largest expected value is 4, and the root mean square is 2.
TEST(MetricRows, StatisticsOfTrivialOutputs) {
  Metrics m;
  m.compared = 10;
  m.relative = 8;
  m.max_abs_expected = 4;
  m.errors_at_zero = 1;
  Metrics reference_implementation;
  reference_implementation.mare = 0.25;
  reference_implementation.rmse = 0.5;
  const StatisticSource source{.output = &m,
                               .reference_implementation = &reference_implementation,
                               .roundoff = 0x1p-11,
                               .expected_rms = 2};
  const auto of = [&](int times, Statistic statistic, double parameter = 0) {
    return trivial_statistic(source, times, statistic, parameter).value_or(-7);
  };
  for (const int times : {1, 2}) {
    SCOPED_TRACE(times);
    EXPECT_EQ(of(times, Statistic::kMaxAbs), times * 4);
    EXPECT_EQ(of(times, Statistic::kMare), times * 4 / (4 + 1e-7));
    EXPECT_EQ(of(times, Statistic::kRmse), times * 2);
    EXPECT_EQ(of(times, Statistic::kDiff1), times);
    EXPECT_EQ(of(times, Statistic::kDiff2), times);
    EXPECT_EQ(of(times, Statistic::kCalcDiff), times);
    EXPECT_EQ(of(times, Statistic::kCosine), 1 - times);
    EXPECT_EQ(of(times, Statistic::kMaxRelative), times);
    EXPECT_EQ(of(times, Statistic::kMeanRelative), times * 8.0 / 10);
    EXPECT_EQ(of(times, Statistic::kMareRatio), times * 4 / (4 + 1e-7) / 0.25);
    EXPECT_EQ(of(times, Statistic::kRmseRatio), times * 2 / 0.5);
    EXPECT_EQ(of(times, Statistic::kShareRelative, times), 0.8);
    EXPECT_EQ(of(times, Statistic::kShareRelative, times + 0.001), 0);
    EXPECT_EQ(of(times, Statistic::kMere), -7) << "sums do not tell it";
    EXPECT_EQ(of(times, Statistic::kShareUlps, 1), -7);
  }
  EXPECT_EQ(of(1, Statistic::kNmse), std::numeric_limits<double>::infinity());
  EXPECT_EQ(of(2, Statistic::kNmse), 4);
  m.max_abs_expected = 0;
  m.relative = 0;
  EXPECT_EQ(of(1, Statistic::kNmse), 0);
  EXPECT_EQ(of(2, Statistic::kCosine), 1);
  EXPECT_EQ(of(2, Statistic::kDiff1), 0);
  EXPECT_EQ(of(2, Statistic::kMaxRelative), 0);
  m.compared = 0;
  EXPECT_EQ(of(2, Statistic::kMere), 0) << "of no elements";
}

// Compares the statistics that can be read from the metrics with values computed by hand.
TEST(MetricRows, StatisticsThatTheMetricsHold) {
  Metrics m, reference_implementation;
  m.compared = 8;
  m.relative = 4;
  m.ulp_compared = 10;
  m.mean_ulps = 2;
  m.mere = 0.5;
  m.mare = 0.75;
  m.rmse = 0.25;
  m.max_rel_error = 3;
  m.mean_rel_error = 1.5;
  m.error_balance = -0.125;
  m.max_abs_ulps = 6;
  m.small_limit = 0.5;
  m.small_error = 0.0625;
  m.small_value_errors = 6;
  m.rel_at_least_1e3 = 2;
  m.rel_at_least_1e4 = 3;
  m.abs_errors = {.per_octave = 4, .below = 2, .above = 1, .bins = {{0, 3}, {4, 2}}};
  m.rel_errors = {.per_octave = 4, .below = 2, .above = 1, .bins = {{0, 3}, {4, 2}}};
  m.ulps = {.per_octave = 1, .below = 2, .above = 1, .bins = {{0, 3}, {1, 2}}};
  reference_implementation = m;
  reference_implementation.mare = 0.5;
  reference_implementation.mere = 0.0625;
  reference_implementation.rmse = 0;
  reference_implementation.small_value_errors = 3;
  const auto text = [](const std::optional<MetricValue>& value) {
    return value ? formatted("{} to {}", value->low, value->high) : std::string("none");
  };
  const StatisticSource alone{.output = &m};
  const StatisticSource beside{.output = &m,
                               .reference_implementation = &reference_implementation,
                               .roundoff = 0.125,
                               .expected_rms = 4};
  const auto of = [&](Statistic statistic, double parameter = 0, double second = 0) {
    return text(read_statistic(alone, statistic, parameter, second));
  };
  const auto over = [&](Statistic statistic, double parameter = 0, double second = 0) {
    return text(read_statistic(beside, statistic, parameter, second));
  };
  EXPECT_EQ(of(Statistic::kMeanUlps), "2.5 to 2.5");
  m.ulp_compared = 8;
  EXPECT_EQ(of(Statistic::kMeanUlps), "2 to 2");
  EXPECT_EQ(of(Statistic::kErrorBalance), "0.125 to 0.125");
  EXPECT_EQ(of(Statistic::kMaxRelative), "3 to 3");
  EXPECT_EQ(of(Statistic::kMeanRelative), "0.75 to 0.75");
  EXPECT_EQ(of(Statistic::kMaxAbsUlps), "6 to 6");
  EXPECT_EQ(of(Statistic::kShareRelative, 1e-3), "0.25 to 0.25");
  EXPECT_EQ(of(Statistic::kShareRelative, 1e-4), "0.375 to 0.375");
  EXPECT_EQ(of(Statistic::kShareRelative, 2), "0.375 to 0.375");
  EXPECT_EQ(of(Statistic::kShareRelative, 0), "none");
  EXPECT_EQ(of(Statistic::kShareAbs, 1), "0.375 to 0.75");
  EXPECT_EQ(of(Statistic::kShareAbs, 0), "0.75 to 1");
  EXPECT_EQ(of(Statistic::kShareAbs, -1), "none");
  EXPECT_EQ(of(Statistic::kShareUlps, 1), "0.375 to 0.375");
  EXPECT_EQ(of(Statistic::kShareUlps, 0.5), "0.75 to 0.75");
  EXPECT_EQ(of(Statistic::kShareUlps, -0.5), "none");
  EXPECT_EQ(of(Statistic::kQuantileAbs, 0), "0 to 6.842277657836021e-49");
  EXPECT_EQ(of(Statistic::kQuantileAbs, 0.5), "1 to 1.25");
  EXPECT_EQ(of(Statistic::kQuantileAbs, 1), formatted("{} to inf", 0x1p160));
  EXPECT_EQ(of(Statistic::kQuantileAbs, 1.5), "none");
  EXPECT_EQ(of(Statistic::kQuantileAbs, -0.5), "none");
  EXPECT_EQ(of(Statistic::kSmallErrors, 0.5, 0.0625), "6 to 6");
  EXPECT_EQ(of(Statistic::kSmallErrors, 0.25, 0.0625), "none");
  EXPECT_EQ(of(Statistic::kSmallErrors, 0.5, 0.125), "none");
  EXPECT_EQ(of(Statistic::kMareRatio), "none");
  EXPECT_EQ(over(Statistic::kSmallErrors, 0.5, 0.0625), "2 to 2");
  EXPECT_EQ(over(Statistic::kMareRatio), "1.5 to 1.5");
  EXPECT_EQ(over(Statistic::kMereRatio), "4 to 4") << "the floor is the roundoff";
  EXPECT_EQ(over(Statistic::kRmseRatio), "0.5 to 0.5") << "the floor is that of a typical value";
  m.rmse = 0;
  EXPECT_EQ(over(Statistic::kRmseRatio), "0 to 0");
  reference_implementation.small_value_errors = 0;
  EXPECT_EQ(over(Statistic::kSmallErrors, 0.5, 0.0625), "6 to 6");
  reference_implementation.small_limit = 0;
  EXPECT_EQ(over(Statistic::kSmallErrors, 0.5, 0.0625), "none");
  m.errors_at_zero = 1;
  EXPECT_EQ(of(Statistic::kMaxRelative), "none");
  EXPECT_EQ(of(Statistic::kMeanRelative), "none");
  EXPECT_EQ(of(Statistic::kShareRelative, 1e-3), "0.375 to 0.375");
  EXPECT_EQ(of(Statistic::kShareRelative, 1e-4), "0.5 to 0.5");
  EXPECT_EQ(of(Statistic::kShareRelative, 2), "0.5 to 0.5");
  m.max_abs_ulps = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(of(Statistic::kMaxAbsUlps), "none");
  m.compared = 0;
  EXPECT_EQ(of(Statistic::kErrorBalance), "none");
}

}  // namespace
}  // namespace assay
