// Tests that the table of metrics is complete, and that the output of metrics follows it.
#include "assay/judge/metric_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "assay/base/constants.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/judge/regate.h"
#include "assay/judge/standards.h"
#include "assay/report.h"
#include "assay/wire/gate_results.h"
#include "assay/wire/saved_results.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(MetricTable, NamesAreUniqueAndDocumented) {
  const std::string json = read_file(ASSAY_SOURCE_DIR "/docs/json.md");
  const std::string judging = read_file(ASSAY_SOURCE_DIR "/docs/judging.md");
  std::set<std::string_view> names;
  for (const Metric& metric : metric_table()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    const bool has_field = !std::holds_alternative<std::monostate>(metric.field);
    EXPECT_TRUE(has_field || metric.limit) << metric.name;
    if (has_field) {
      EXPECT_THAT(json, HasSubstr(formatted("`{}`", metric.name)));
    }
    if (metric.better != Better::kNeither) {
      EXPECT_FALSE(metric.words.empty()) << metric.name;
    }
  }
  for (const std::string& name : statistic_names()) {
    EXPECT_THAT(judging, HasSubstr(formatted("`{}`", name)));
  }
}

TEST(MetricTable, EveryStatisticHasOneRow) {
  for (int i = 0; i < kStatisticCount; ++i) {
    const auto statistic = static_cast<Statistic>(i);
    int rows = 0;
    for (const Metric& metric : metric_table()) {
      rows += metric.limit && metric.limit->statistic == statistic ? 1 : 0;
    }
    EXPECT_EQ(rows, 1) << i;
    EXPECT_EQ(find_statistic(statistic_name(statistic)), statistic);
  }
  EXPECT_FALSE(find_statistic("snr_db"));
  EXPECT_THAT(error_of([] { (void)metric_named("snr_d"); }), HasSubstr("did you mean 'snr_db'?"));
  EXPECT_THAT(error_of([] { (void)metric_named("compared"); }), HasSubstr("unknown metric"));
}

// The limits of each published standard are statistics that the table reads.
TEST(MetricTable, EveryLimitOfAStandardIsRead) {
  Metrics m;
  m.compared = 4;
  m.small_limit = 1;
  m.max_abs_ulps = 1;
  m.abs_errors = {.per_octave = 16, .below = 4, .above = 0, .bins = {}};
  int limits = 0;
  for (const Standard& standard : standards()) {
    for (const LimitRow& row : standard.limits) {
      Metrics own = m;
      own.small_limit = row.limit.parameter;
      own.small_error = row.limit.second;
      // These statistics cannot be read from the metrics, which do not hold which elements are
      // large, and lack some quantiles and sums.
      constexpr Statistic kOfElements[] = {
          Statistic::kLargeMareRatio, Statistic::kLargeMereRatio, Statistic::kLargeRmseRatio,
          Statistic::kNmse,           Statistic::kNoiseRatio,     Statistic::kQuantileRelative};
      const bool of_elements =
          std::count(std::begin(kOfElements), std::end(kOfElements), row.limit.statistic) > 0;
      EXPECT_NE(read_statistic({.output = &own, .reference_implementation = &own},
                               row.limit.statistic, row.limit.parameter, row.limit.second)
                    .has_value(),
                of_elements)
          << standard.name;
      ++limits;
    }
  }
  EXPECT_GT(limits, 40);
}

// Reading the JSON gives back what was written, for each field of the table.
TEST(MetricTable, JsonKeepsEveryField) {
  const Tensor a = oracle::vector_of("float32", {1, 2.5, kNan, -3, 0, kInfinity});
  const Tensor e = oracle::vector_of("float64", {1.1, 2, kNan, -3, 1e-9, kInfinity});
  const Verdict v = judge(a, e, oracle::tolerance(1e-3, 1e-3));
  const Metrics back = wire::read_results(verdict_json(v)).at(0).metrics.at(0);
  for (const Metric& metric : metric_table()) {
    std::visit(
        [&](auto field) {
          using Field = decltype(field);
          if constexpr (std::is_same_v<Field, Tally Metrics::*>) {
            EXPECT_EQ((back.*field).nan, (v.metrics.value().*field).nan) << metric.name;
            EXPECT_EQ((back.*field).zero, (v.metrics.value().*field).zero) << metric.name;
          } else if constexpr (std::is_same_v<Field, Histogram Metrics::*>) {
            EXPECT_EQ((back.*field).bins, (v.metrics.value().*field).bins) << metric.name;
            EXPECT_EQ((back.*field).below, (v.metrics.value().*field).below) << metric.name;
          } else if constexpr (!std::is_same_v<Field, std::monostate>) {
            EXPECT_EQ(back.*field, v.metrics.value().*field) << metric.name;
          }
        },
        metric.field);
  }
}

// Two directions prefer small values, and two prefer large ones.
TEST(MetricTable, WhichSensesHaveOneDirection) {
  const auto small = [](LimitSense s) {
    return s == LimitSense::kBelow || s == LimitSense::kAtMost;
  };
  for (const LimitSenseRow& a : limit_senses()) {
    for (const LimitSenseRow& b : limit_senses()) {
      EXPECT_EQ(same_direction(a.sense, b.sense), small(a.sense) == small(b.sense))
          << a.name << " " << b.name;
    }
  }
}

}  // namespace
}  // namespace assay
