// Without metrics, a verdict is found in another way: float32 values are compared as float32, and
// limits are read from only the sums that they need. The verdict must be the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/standards.h"
#include "assay/judge/verdict.h"
#include "drawn_outputs.h"
#include "every_standard.h"

namespace assay {
namespace {

using drawn::golden_values;
using drawn::output_values;

// Judges with metrics and without, and expects the same verdict except for the metrics.
Verdict expect_one_verdict(const TensorView& actual, const TensorView& expected, const Bound& bound,
                           JudgeOptions options) {
  options.patterns = false;
  options.metrics = true;
  Verdict full = judge(actual, expected, bound, options);
  options.metrics = false;
  const Verdict quick = judge(actual, expected, bound, options);
  EXPECT_FALSE(quick.metrics);
  full.metrics.reset();
  // For a plain tolerance, only the metrics hold the ratios of elements within the tolerance.
  if (bound.is_plain() && full.mismatches == 0) full.worst_ratio = quick.worst_ratio;
  EXPECT_EQ(verdict_json(quick), verdict_json(full));
  EXPECT_EQ(quick.worst_ratio, full.worst_ratio);
  EXPECT_EQ(quick.nonzero, full.nonzero);
  EXPECT_EQ(quick.blind, full.blind);
  EXPECT_EQ(quick.readings.size(), full.readings.size());
  for (std::size_t i = 0; i < std::min(quick.readings.size(), full.readings.size()); ++i) {
    EXPECT_EQ(quick.readings[i].value, full.readings[i].value) << quick.readings[i].limit.text();
  }
  return full;
}

TEST(WithoutMetrics, EveryStandardSaysTheSame) {
  std::size_t place = 0, passed = 0, missed = 0, limited = 0;
  for (const char* dtype : {"float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
                            "hifloat8", "float64", "int8"}) {
    const Format& f = format_named(dtype);
    for (const std::string& standard :
         every_standard(dtype == std::string("float32") ? 1 : 2, place++)) {
      const auto bound = standard_bound(standard, f, 64);
      const auto needs_weights = [](const Limit& l) { return l.needs_weights(); };
      if (!bound || std::any_of(bound->limits.begin(), bound->limits.end(), needs_weights))
        continue;
      const Shape shape = place % 3 == 0 ? Shape{4, 520} : Shape{2, 1043};
      const std::int64_t n = element_count(shape);
      for (const bool specials : {false, true}) {
        const std::vector<double> golden = golden_values(f, n, 21 + place, specials);
        for (const double off : {0.0, 0x1p-9}) {
          const std::vector<double> output =
              off == 0 ? golden : output_values(f, golden, 22 + place, specials, off);
          const Tensor actual = Tensor::from_values(f, shape, output);
          const Tensor other =
              Tensor::from_values(f, shape, output_values(f, golden, 23 + place, false, 0x1p-8));
          const Tensor bounds(format_named("float64"), shape);
          JudgeOptions options{.reference_implementation = {}, .element_bounds = bounds.view()};
          if (bound->needs_reference()) options.reference_implementation = other.view();
          for (const std::string golden_dtype :
               {f.is_float() ? dtype : "float64", "float32", "float64"}) {
            SCOPED_TRACE(formatted("{} of {} against {}, specials {}, off {}", standard, dtype,
                                   golden_dtype, specials, off));
            const Tensor expected = Tensor::from_values(format_named(golden_dtype), shape, golden);
            const Verdict v = expect_one_verdict(actual, expected, *bound, options);
            passed += v.outcome == Outcome::kPass ? 1 : 0;
            missed += v.mismatches > 0 ? 1 : 0;
            limited += v.readings.empty() ? 0 : 1;
          }
        }
      }
    }
  }
  EXPECT_GT(passed, walks_a_share() ? 100 : 400);
  EXPECT_GT(missed, walks_a_share() ? 250 : 1000);
  EXPECT_GT(limited, walks_a_share() ? 150 : 600);
}

// Covers every statistic that a file may limit, in formats with and without ordered ulps.
TEST(WithoutMetrics, LimitsOnEveryStatistic) {
  std::size_t differing = 0;
  const int step = walks_a_share() ? 4 : 1;
  int place = 0;
  for (const char* dtype : {"float32", "float16", "bfloat16", "hifloat8", "float8_e4m3fnuz"}) {
    const Format& f = format_named(dtype);
    for (int s = place++ % step; s < kStatisticCount; s += step) {
      const auto statistic = static_cast<Statistic>(s);
      for (const std::int64_t n : {1600, 2003}) {
        for (const double parameter : {1e-3, 0.5}) {
          const std::vector<double> golden = golden_values(f, n, 41, n == 2003);
          const Tensor expected = Tensor::from_values(f, {n}, golden);
          const Tensor actual =
              Tensor::from_values(f, {n}, output_values(f, golden, 42, n == 2003, 0x1p-8));
          const Tensor other =
              Tensor::from_values(f, {n}, output_values(f, golden, 43, false, 0x1p-7));
          Bound bound;
          bound.rule = Rule::kStatistics;
          bound.nan_equal = true;
          bound.limits = {{.statistic = statistic,
                           .limit = 0.25,
                           .parameter = parameter,
                           .second = parameter / 16}};
          // Counts blind elements for only half of the parameters, because the trial takes most of
          // the time.
          JudgeOptions options{.blindness = parameter == 0.5};
          if (bound.needs_reference()) options.reference_implementation = other.view();
          SCOPED_TRACE(formatted("{} of {}, {}, {} elements", statistic_name(statistic), dtype,
                                 parameter, n));
          const Verdict v = expect_one_verdict(actual, expected, bound, options);
          ASSERT_EQ(v.readings.size(), 1u) << v.because;
          // Adds limits of two other statistics, which need other sums.
          if (parameter == 0.5) {
            bound.limits.push_back({.statistic = Statistic::kCosine, .limit = 0.5});
            bound.limits.push_back({.statistic = Statistic::kErrorBalance, .limit = 0.5});
            expect_one_verdict(actual, expected, bound, options);
          }
          differing += v.readings[0].value != 0 ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(differing, walks_a_share() ? 100u : 400u);
}

// The pass that judges counts ulps beyond 1 and beyond 32. Other limits need one more pass.
TEST(WithoutMetrics, SharesOfUlps) {
  std::size_t some = 0;
  for (const char* dtype : {"float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2",
                            "float8_e4m3fnuz", "hifloat8"}) {
    const Format& f = format_named(dtype);
    for (const std::int64_t n : {1600, 2003}) {
      const bool specials = n == 2003;
      const std::vector<double> golden = golden_values(f, n, 51, specials);
      std::vector<double> output = output_values(f, golden, 52, specials, 0x1p-7);
      for (std::size_t i = 0; i < output.size(); i += 9) output[i] = -output[i];
      // Doubles some values, so that they may leave the format's range.
      for (std::size_t i = 0; i < output.size(); i += 31) output[i] *= 2;
      const Tensor actual = Tensor::from_values(f, {n}, output);
      for (const char* golden_dtype : {dtype, "float32", "float64"}) {
        std::vector<double> wide = golden;
        // Most formats hold 2^120 only as infinity or NaN.
        if (specials) wide[5] = 0x1p120;
        const Tensor expected = Tensor::from_values(format_named(golden_dtype), {n}, wide);
        for (const double most : {0.0, 1.0, 1.5, 32.0, 33.0}) {
          for (const bool rounded : {false, true}) {
            Bound bound;
            bound.rule = Rule::kStatistics;
            bound.nan_equal = true;
            bound.round_expected = rounded;
            bound.limits = {{.statistic = Statistic::kShareUlps, .limit = 0.25, .parameter = most}};
            SCOPED_TRACE(formatted("{} against {}, {} elements, beyond {} ulps", dtype,
                                   golden_dtype, n, most));
            const Verdict v = expect_one_verdict(actual, expected, bound, {.blindness = false});
            ASSERT_EQ(v.readings.size(), 1u) << v.because;
            some += v.readings[0].value > 0 && v.readings[0].value < 1 ? 1 : 0;
            bound.limits.push_back({.statistic = Statistic::kMeanUlps, .limit = 4});
            if (most == 32) {
              bound.limits.push_back({.statistic = Statistic::kMaxAbs, .limit = 4});
            }
            expect_one_verdict(actual, expected, bound, {.blindness = false});
          }
        }
      }
    }
  }
  EXPECT_GT(some, 300u);
}

// From 2^18 elements on, a sample shows where quantiles lie. Errors of only a few sizes are ties.
void expect_one_verdict_of_many(std::int64_t n) {
  const Format& f = format_named("float32");
  oracle::Dice dice(31);
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> golden(size), near(size), far(size), stepped(size);
  for (std::size_t i = 0; i < golden.size(); ++i) {
    golden[i] = i % 50 == 0 ? 0 : 1 + static_cast<double>(static_cast<float>(dice.uniform()));
    near[i] = golden[i] * (1 + 1e-5 * (dice.uniform() - 0.5));
    far[i] = golden[i] * (1 + 4e-3 * (dice.uniform() - 0.5));
    stepped[i] = golden[i] + static_cast<double>(dice.below(4)) * 0x1p-23;
  }
  const Tensor expected = Tensor::from_values(f, {n}, golden);
  for (const std::vector<double>& values : {golden, near, far, stepped}) {
    const Tensor actual = Tensor::from_values(f, {n}, values);
    for (const char* standard : {"tensorrt_median", "tensorrt_quantile", "tensorrt_max",
                                 "tensorrt_mean", "msprobe", "msprobe_ulp", "ttk_mixed"}) {
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(standard);
        const Verdict v =
            expect_one_verdict(actual, expected, oracle::bound_of(standard, "float32"),
                               {.threads = threads, .blindness = threads == 1});
        EXPECT_FALSE(v.readings.empty());
      }
    }
  }
}

TEST(WithoutMetrics, QuantilesAndSharesOfManyElements) {
  expect_one_verdict_of_many((1 << 18) + 1003);
  if (!walks_a_share()) expect_one_verdict_of_many((1 << 18) + 1000);
}

}  // namespace
}  // namespace assay
