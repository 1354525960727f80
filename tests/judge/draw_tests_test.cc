// Tests each test of draws separately. The expected values are its inequality, written out.
#include "assay/judge/draw_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/verdict.h"

namespace assay {
namespace {

using testing::HasSubstr;

Draws known(const std::vector<double>& middle) {
  Draws draws;
  draws.middle = draws.low = draws.high = middle;
  draws.half.assign(middle.size(), 0.0);
  draws.shape = {static_cast<std::int64_t>(middle.size())};
  return draws;
}

// The p-value of the mean is Hoeffding's bound, 2 exp(-(sum of (U - 1/2))^2 / (2 n proxy)). The
// part of the sum that rounding leaves open is subtracted first.
TEST(DrawTests, MeanIsHoeffdings) {
  Draws draws = known(std::vector<double>(100, 0.625));
  draws.proxy = 0.25;
  DrawTest test = mean_test(draws);
  EXPECT_EQ(test.statistic, 0.625);
  EXPECT_NEAR(test.p_value, 2 * std::exp(-12.5 * 12.5 / (2 * 100 * 0.25)), 1e-15);
  draws.half.assign(100, 0.0625);
  test = mean_test(draws);
  EXPECT_NEAR(test.p_value, 2 * std::exp(-6.25 * 6.25 / (2 * 100 * 0.25)), 1e-12);
  draws.half.assign(100, 0.25);
  EXPECT_EQ(mean_test(draws).p_value, 1) << "all of it may be rounding";
}

// A half that repeats the other half is found. If one of the two halves is not known at all,
// nothing is found.
TEST(DrawTests, SerialCorrelationCountsWhatEachDrawLeavesOpen) {
  constexpr std::size_t kHalf = 512;
  Random random(1, stream_of("draw_tests_test"));
  std::vector<double> middle;
  for (std::size_t i = 0; i < kHalf; ++i) middle.push_back(random.uniform() < 0.5 ? 0.0 : 1.0);
  for (std::size_t i = 0; i < kHalf; ++i) middle.push_back(middle[i]);
  Draws draws = known(middle);
  draws.variance = draws.proxy = 0.25;
  const DrawTest found = serial_test(draws, 1e-7);
  EXPECT_LT(found.p_value, 1e-9);
  EXPECT_THAT(found.words, HasSubstr("between elements 512 apart"));
  EXPECT_EQ(found.statistic, 1);
  for (const std::size_t unknown : {std::size_t{0}, kHalf}) {
    Draws open = draws;
    for (std::size_t i = 0; i < kHalf; ++i) open.half[unknown + i] = 0.5;
    EXPECT_GT(serial_test(open, 1e-7).p_value, 0.1) << unknown;
  }
}

// The test finds the shortest stretch that chance does not repeat, and names its place. It ignores
// shorter stretches.
TEST(DrawTests, RepeatsSayWhereTheStretchesLie) {
  Draws draws;
  for (std::uint64_t i = 0; i < 1000; ++i) draws.symbols.push_back(1000 + i);
  draws.heaviest = 0x1p-24;
  EXPECT_EQ(repeats_test(draws, 1e-9).words, "no 3 values come twice");
  EXPECT_EQ(repeats_test(draws, 1e-9).p_value, 1);
  for (const std::size_t from : {std::size_t{0}, std::size_t{10}}) {
    Draws again = draws;
    for (std::size_t i = 0; i < 3; ++i) again.symbols[997 + i] = again.symbols[from + i];
    const DrawTest test = repeats_test(again, 1e-9);
    EXPECT_EQ(
        test.words,
        formatted("the 3 values from draw {} on are the same as those from draw 997 on", from));
    EXPECT_EQ(test.statistic, 3);
    EXPECT_NEAR(test.p_value, 5e5 * 0x1p-72, 1e-20);
    again.symbols[997] = 7;
    EXPECT_EQ(repeats_test(again, 1e-9).p_value, 1) << "two values are too few";
  }
}

Tensor drawn(const char* dtype, const std::function<double(Random&)>& draw) {
  Random random(2, stream_of("draw_tests_test"));
  std::vector<double> values;
  for (int i = 0; i < 1 << 14; ++i) values.push_back(draw(random));
  return Tensor::from_values(format_named(dtype), {1 << 14}, values);
}

Verdict judged(const std::string& law, const Tensor& actual, const Tensor& expected) {
  return judge(actual, expected,
               *standard_bound(formatted("distribution({})", law), actual.format()));
}

bool passes(const Verdict& v, const char* test) {
  for (const DrawTest& t : v.tests) {
    if (t.name == test) return t.passed;
  }
  ADD_FAILURE() << "there is no test " << test;
  return false;
}

// For whole numbers of a range that does not begin at 0, a wrong distribution function is found on
// either side.
TEST(DrawTests, WholeNumbersFromAnyOne) {
  for (const double from : {0.0, 0.5}) {
    const Tensor x = drawn(
        "int32", [&](Random& r) { return 10000 + std::floor(10000 * (from + r.uniform() / 2)); });
    const Verdict v = judged("integers,low=10000,high=19999", x, x);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_FALSE(passes(v, "distribution function")) << from;
  }
  const Tensor right =
      drawn("int32", [](Random& r) { return 10000 + std::floor(10000 * r.uniform()); });
  EXPECT_EQ(judged("integers,low=10000,high=19999", right, right).outcome, Outcome::kPass);
}

// The size of exponential draws is that of 1 / rate, and so is the part that rounding leaves open.
TEST(DrawTests, ExponentialNumbersOfAnyRate) {
  for (const char* rate : {"0.001", "1000"}) {
    const double of_law = std::strtod(rate, nullptr);
    const auto draw = [&](double other) {
      return drawn("float32", [=](Random& r) { return -std::log1p(-r.uniform()) / other; });
    };
    const Tensor right = draw(of_law), wrong = draw(1.25 * of_law);
    const std::string law = formatted("exponential,rate={}", rate);
    EXPECT_EQ(judged(law, right, right).outcome, Outcome::kPass) << rate;
    const Verdict v = judged(law, wrong, wrong);
    EXPECT_EQ(v.outcome, Outcome::kFail) << rate;
    EXPECT_FALSE(passes(v, "distribution function")) << rate;
    EXPECT_FALSE(passes(v, "mean of F")) << rate;
  }
}

// From 2^53 on, float64 does not hold every whole number. Such elements show nothing.
TEST(DrawTests, DropoutOfIntegersThatFloat64DoesNotHold) {
  const auto outcome = [](double x) {
    const Tensor input = drawn("int64", [=](Random&) { return x; });
    const Tensor output = drawn("int64", [=](Random& r) { return r.uniform() < 0.5 ? 0 : 2 * x; });
    return judged("dropout,p=0.5", output, input).outcome;
  };
  EXPECT_EQ(outcome(0x1p50), Outcome::kPass);
  EXPECT_EQ(outcome(0x1p52), Outcome::kNotComparable);
}

// Draws that lie on the mean deviate only by the part that rounding leaves open. The p-value is
// twice the probability that chi-squared with two degrees of freedom is below that part: 1 - exp(-x
// / 2).
TEST(DrawTests, DeviationCountsWhatEachDrawLeavesOpen) {
  const std::vector<double> on_mean = {3, 3};
  for (const double open : {0.5, 2.0}) {
    const DrawTest test = normal_deviation_test(on_mean, std::vector<double>(2, open), 3, 4);
    const double most = 2 * (open / 4) * (open / 4);
    EXPECT_NEAR(test.p_value, 2 * -std::expm1(-most / 2), 1e-12) << open;
    EXPECT_EQ(test.statistic, 0);
  }
  EXPECT_EQ(normal_deviation_test(on_mean, std::vector<double>(2, 0.0), 3, 4).p_value, 0);
}

}  // namespace
}  // namespace assay
