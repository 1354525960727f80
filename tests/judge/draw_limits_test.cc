// Tests draws at the limits: the last value that a law allows, the number of draws from which a
// test can decide, and which of several equal findings is named. The inequalities are computed by
// hand if possible.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/draw_tests.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::vector_of;
using testing::HasSubstr;
using testing::Not;

Verdict verdict_by_law(const std::string& law, const Tensor& actual, const Tensor& expected,
                       std::size_t worst = 5) {
  JudgeOptions options;
  options.worst = worst;
  return judge(actual, expected,
               *standard_bound(formatted("distribution({})", law), actual.format()), options);
}

DrawTest test_named(const Verdict& v, const std::string& name) {
  for (const DrawTest& test : v.tests) {
    if (test.name == name) return test;
  }
  ADD_FAILURE() << "there is no test " << name;
  return {};
}

Draws draws_at(const std::vector<double>& low, const std::vector<double>& high) {
  Draws draws;
  draws.low = low;
  draws.high = high;
  for (std::size_t i = 0; i < low.size(); ++i) {
    draws.middle.push_back((low[i] + high[i]) / 2);
    draws.half.push_back((high[i] - low[i]) / 2);
  }
  draws.shape = {static_cast<std::int64_t>(low.size())};
  return draws;
}

// -- Each test ------------------------------------------------------------------------------------

// If all draws have one value, the largest deviation from the distribution function F is on the
// farther side of this value, up to the step of F before or after it. If both sides are equally
// far, the first one is named.
TEST(DrawLimits, DistributionFunctionOfOnePlace) {
  constexpr double kStep = 1.0 / 65536;
  struct Place {
    double u, off, at;
  };
  for (const Place& p : {Place{0, 1 - kStep, kStep}, Place{0.25, 0.75 - kStep, 0.25 + kStep},
                         Place{0.5, 0.5 - kStep, 0.5 - kStep},
                         Place{0.75, 0.75 - kStep, 0.75 - kStep}, Place{1, 1 - kStep, 1 - kStep}}) {
    for (const std::size_t n : {1u, 7u}) {
      const std::vector<double> u(n, p.u);
      const DrawTest test = function_test(draws_at(u, u));
      EXPECT_EQ(test.statistic, p.off) << p.u;
      EXPECT_EQ(test.words, formatted("differs by at most {}, where it is {}", short_number(p.off),
                                      short_number(p.at)));
      const double bound = 2 * std::exp(-2 * static_cast<double>(n) * p.off * p.off);
      EXPECT_DOUBLE_EQ(test.p_value, std::min(1.0, bound));
    }
  }
  EXPECT_EQ(function_test(draws_at({0}, {1})).statistic, 0) << "it may lie anywhere";
  EXPECT_DOUBLE_EQ(function_resolution(50, 0.5), std::sqrt(std::log(4.0) / 100));
}

// The test of the ends asks how near the smallest and the largest of n draws are to the ends of the
// range, 0 and 1. All n draws are farther than a from an end with probability (1 - a)^n, and the
// nearest is nearer with probability 1 - (1 - a)^n. The p-value is four times the smallest of these
// probabilities.
TEST(DrawLimits, EndsByHand) {
  struct Ends {
    double low, high, p_value;
  };
  for (const Ends& e :
       {Ends{0.125, 0.9375, 4 * std::pow(0.875, 64)}, Ends{0.0625, 0.75, 4 * std::pow(0.75, 64)},
        Ends{0x1p-20, 0.9375, 4 * -std::expm1(64 * std::log1p(-0x1p-20))},
        Ends{0.0625, 1 - 0x1p-20, 4 * -std::expm1(64 * std::log1p(-0x1p-20))}, Ends{0, 0.9375, 0},
        Ends{0.0625, 1, 0}, Ends{0x1p-6, 1 - 0x1p-6, 1}}) {
    std::vector<double> u(64, 0.5);
    u[3] = e.low, u[60] = e.high;
    const DrawTest test = ends_test(draws_at(u, u));
    EXPECT_NEAR(test.p_value, e.p_value, 1e-12 * e.p_value) << e.low << " " << e.high;
    EXPECT_EQ(test.statistic, std::max(e.low, 1 - e.high));
    EXPECT_EQ(test.words, formatted("nothing in the lower {} and the upper {} of the law",
                                    short_number(e.low), short_number(1 - e.high)));
  }
  for (const double all : {0.0, 1.0}) {
    const std::vector<double> u(64, all);
    EXPECT_EQ(ends_test(draws_at(u, u)).p_value, 0);
  }
  EXPECT_EQ(ends_test(draws_at({0}, {1})).p_value, 1);
}

// If no lag correlates, the shortest lag is named. A sequence that repeats at only one lag is found
// at that lag: at 3, at powers of two and at the steps of the shape, up to half of the draws.
TEST(DrawLimits, LagsThatAreLookedAt) {
  const auto found = [](std::int64_t lag, const Shape& shape) {
    const std::int64_t n = element_count(shape);
    std::vector<double> u;
    std::uint64_t state = 1;
    for (std::int64_t i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const bool fresh = i / lag % 2 == 0;
      u.push_back(fresh ? static_cast<double>(state >> 63) : u[static_cast<std::size_t>(i - lag)]);
    }
    Draws draws = draws_at(u, u);
    draws.shape = shape;
    draws.variance = draws.proxy = 0.25;
    return serial_test(draws, 1e-6);
  };
  for (const std::int64_t lag : {1, 2, 3, 4, 64, 256, 512}) {
    EXPECT_THAT(found(lag, {1024}).words, HasSubstr(formatted("between elements {} apart", lag)));
  }
  EXPECT_THAT(found(100, {10, 100}).words, HasSubstr("between elements 100 apart"));
  EXPECT_THAT(found(100, {2, 5, 100}).words, HasSubstr("between elements 100 apart"));
  EXPECT_THAT(found(500, {2, 5, 100}).words, HasSubstr("between elements 500 apart"));
  EXPECT_GT(found(100, {1000}).p_value, 1e-3);
  const DrawTest none = serial_test(draws_at({0.5, 0.5, 0.5, 0.5}, {0.5, 0.5, 0.5, 0.5}), 1e-6);
  EXPECT_EQ(none.words, "0 between elements 1 apart");
  EXPECT_EQ(none.p_value, 1);
  EXPECT_EQ(serial_test(draws_at({0.5}, {0.5}), 1e-6).words, "too few draws to tell");
}

// If there are more than 2^21 stretches of draws, only some are kept, but of two equal stretches
// always both or neither. A repeat from the beginning or from the middle is therefore found as a
// whole.
TEST(DrawLimits, RepeatsOfMoreDrawsThanAreKept) {
  Draws draws;
  const std::size_t n = (std::size_t{1} << 22) + 100;
  for (std::size_t i = 0; i < n; ++i) draws.symbols.push_back(i * 0x9e3779b97f4a7c15);
  draws.heaviest = 0x1p-24;
  for (std::size_t i = 0; i < 200; ++i) draws.symbols[n - 200 + i] = draws.symbols[1000 + i];
  const DrawTest test = repeats_test(draws, 1e-9);
  EXPECT_EQ(test.words,
            formatted("the 200 values from draw 1 000 on are the same as those from draw {} on",
                      grouped(static_cast<std::int64_t>(n - 200))));
  EXPECT_EQ(test.statistic, 200);
}

// A repeat must have ceil(log(n^2 / 2 / limit) / log(1 / heaviest)) values, where `heaviest` is the
// probability of the most frequent value. If that is more than half of the draws, they are too few.
TEST(DrawLimits, LengthOfARepeatByHand) {
  for (const std::size_t n : {std::size_t{60}, std::size_t{70}, std::size_t{80}}) {
    Draws draws;
    for (std::size_t i = 0; i < n; ++i) draws.symbols.push_back(i);
    draws.heaviest = 0.5;
    // log2(n^2 / 2 / 2^-23): 33.8, 34.3, 34.6.
    const double needed = 2 * std::log2(static_cast<double>(n)) - 1 + 23;
    EXPECT_EQ(repeats_test(draws, 0x1p-23).words, needed < static_cast<double>(n) / 2
                                                      ? "no 35 values come twice"
                                                      : "too few draws to tell")
        << n;
  }
}

// -- Values of the laws ---------------------------------------------------------------------------

// Tests which values of an output of random draws are mismatches. If the output's format holds an
// end of the law's range, values beyond that end are mismatches, and so is the end itself if it is
// open. If the format does not hold the end, the next value beyond it also passes, because a right
// operator may have rounded the end to it.
TEST(DrawLimits, EndsOfUniformNumbers) {
  const auto mismatches = [](const char* law, double x) {
    const Tensor t = vector_of("float16", {x, 0.5});
    return verdict_by_law(law, t, t).mismatches;
  };
  EXPECT_EQ(mismatches("uniform", 0), 0);
  EXPECT_EQ(mismatches("uniform", -0x1p-24), 1);
  EXPECT_EQ(mismatches("uniform", 1), 0);
  EXPECT_EQ(mismatches("uniform", 1 + 0x1p-10), 1);
  EXPECT_EQ(mismatches("uniform", kInfinity), 1);
  EXPECT_EQ(mismatches("uniform", kNan), 1);
  EXPECT_EQ(mismatches("uniform,open_low=1", 0), 1);
  EXPECT_EQ(mismatches("uniform,open_low=1", 0x1p-24), 0);
  EXPECT_EQ(mismatches("uniform,open_low=1", 1), 0);
  EXPECT_EQ(mismatches("uniform,open_high=1", 1), 1);
  EXPECT_EQ(mismatches("uniform,open_high=1", 1 - 0x1p-11), 0);
  EXPECT_EQ(mismatches("uniform,open_high=1", 0), 0);
  // 1638 * 2^-14 < 0.1 < 1639 * 2^-14, and 1843 * 2^-11 < 0.9 < 1844 * 2^-11.
  EXPECT_EQ(mismatches("uniform,low=0.1,high=0.9", 1638 * 0x1p-14), 0);
  EXPECT_EQ(mismatches("uniform,low=0.1,high=0.9", 1637 * 0x1p-14), 1);
  EXPECT_EQ(mismatches("uniform,low=0.1,high=0.9", 1844 * 0x1p-11), 0);
  EXPECT_EQ(mismatches("uniform,low=0.1,high=0.9", 1845 * 0x1p-11), 1);
  EXPECT_EQ(mismatches("exponential", 0), 0);
  EXPECT_EQ(mismatches("exponential", -0x1p-24), 1);
  EXPECT_EQ(mismatches("exponential", kInfinity), 1);
}

TEST(DrawLimits, EndsOfWholeNumbersAndClasses) {
  const Tensor p = vector_of("float64", {0.5, 0.25, 0.25, 0});
  const auto mismatches = [&](const char* law, double x) {
    return verdict_by_law(law, vector_of("float32", {x, 1}), p).mismatches;
  };
  for (const double x : {-2.0, 0.0, 3.0})
    EXPECT_EQ(mismatches("integers,low=-2,high=3", x), 0) << x;
  for (const double x : {-3.0, 0.5, 4.0, double{kNan}}) {
    EXPECT_EQ(mismatches("integers,low=-2,high=3", x), 1) << x;
  }
  for (const double x : {0.0, 1.0, 2.0}) EXPECT_EQ(mismatches("categorical", x), 0) << x;
  for (const double x : {-1.0, 0.5, 3.0, 4.0, double{kNan}}) {
    EXPECT_EQ(mismatches("categorical", x), 1) << x;
  }
}

// If a law draws from at most 4096 different integers, a fourth test counts how often each of them
// occurs.
TEST(DrawLimits, HowManyWholeNumbersAreCounted) {
  const Tensor t = vector_of("int32", {0, 4000, 17, 2222});
  EXPECT_EQ(verdict_by_law("integers,high=4095", t, t).tests.size(), 4u);
  EXPECT_EQ(verdict_by_law("integers,high=4096", t, t).tests.size(), 3u);
}

TEST(DrawLimits, WhatIsNoProbability) {
  const Tensor classes = vector_of("int32", {0, 1, 0, 1});
  const auto because = [&](const std::vector<double>& p) {
    return verdict_by_law("categorical", classes, vector_of("float64", p)).because;
  };
  EXPECT_THAT(because({1.5, -0.5}), HasSubstr("the golden result holds -0.5, which is no"));
  EXPECT_THAT(because({kNan, 1}), HasSubstr("the golden result holds nan, which is no"));
  EXPECT_THAT(because({kInfinity, 1}), HasSubstr("the golden result holds inf, which is no"));
  EXPECT_THAT(because({1}), HasSubstr("need probabilities of shape [classes]"));
  EXPECT_THAT(because({0.5, 0.5}), Not(HasSubstr("probabilit")));
  EXPECT_THAT(because({0.5, 0.5, 0}), Not(HasSubstr("probabilities")));
}

// Close to the overflow of float16, an element may have become infinity. Neither infinity nor 0 is
// a mismatch there, and 0 shows nothing. From two and a half roundings below the limit on, the
// element is an ordinary one.
TEST(DrawLimits, DropoutNextToTheLargestValue) {
  struct Kept {
    double x, y;
    std::int64_t mismatches, told;
  };
  // Rounding leaves 2.5 * 2^-11 of the value open, which is 79.9 at 65440. An element that may
  // overflow may be 0, infinity, or a value that is at most 4 * 2^-11 of 65504 below 65504.
  for (const Kept& k :
       {Kept{32704, kInfinity, 1, 2}, Kept{32704, 0, 0, 3}, Kept{32704, 65408, 0, 3},
        Kept{32720, kInfinity, 0, 2}, Kept{32720, 0, 0, 2}, Kept{32752, kInfinity, 0, 2},
        Kept{32752, -kInfinity, 0, 2}, Kept{32752, 0, 0, 2}, Kept{32752, 65504, 0, 2},
        Kept{50000, 65408, 0, 2}, Kept{50000, 65376, 1, 2}, Kept{-50000, -65376, 1, 2},
        Kept{-50000, -65408, 0, 2}}) {
    const Verdict v = verdict_by_law("dropout,p=0.5", vector_of("float16", {0, 2, k.y}),
                                     vector_of("float16", {1, 1, k.x}));
    EXPECT_EQ(v.mismatches, k.mismatches) << k.x << " " << k.y;
    if (k.mismatches > 0) continue;
    EXPECT_THAT(test_named(v, "share of zeros").words, HasSubstr(formatted("of {} zeros", k.told)))
        << k.x << " " << k.y;
  }
}

// A mismatch is listed with its index, values and bits. The list has as many as requested, the
// first mismatches first.
TEST(DrawLimits, MissesOfDropout) {
  const auto matrix = [](std::vector<double> values) {
    return Tensor::from_values(format_named("float32"), {2, 3}, std::move(values));
  };
  const Tensor x = matrix({1, 1, 1, 1, 3, 1}), y = matrix({0, 2, 0, 2, 7, kNan});
  const Verdict v = verdict_by_law("dropout,p=0.5", y, x);
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.special_mismatches, 1);
  EXPECT_THAT(v.because, HasSubstr("2 of 6 elements cannot be draws"));
  EXPECT_THAT(v.because, HasSubstr("the first is element 4, 7"));
  EXPECT_EQ(v.worst_ratio, HUGE_VAL);
  ASSERT_EQ(v.worst.size(), 2u);
  EXPECT_EQ(v.worst[0].linear, 4);
  EXPECT_EQ(v.worst[0].index, (Shape{1, 1}));
  EXPECT_EQ(v.worst[0].actual, 7);
  EXPECT_EQ(v.worst[0].expected, 6);
  EXPECT_EQ(v.worst[0].error, 1);
  EXPECT_EQ(v.worst[0].actual_bits, 0x40e00000u);
  EXPECT_EQ(v.worst[0].expected_bits, 0x40c00000u);
  EXPECT_EQ(v.worst[1].index, (Shape{1, 2}));
  for (const std::size_t worst : {0u, 1u, 2u}) {
    EXPECT_EQ(verdict_by_law("dropout,p=0.5", y, x, worst).worst.size(), worst);
  }
}

// -- How many draws -------------------------------------------------------------------------------

// Draws are too few if an output of one repeated value would pass. The numbers of draws were
// computed by hand from the probability of that value and from the test's share of 1e-6.
TEST(DrawLimits, HowManyDrawsAConstantPasses) {
  struct Few {
    const char* law;
    double share;  // of ones
    std::int64_t most;
  };
  for (const Few& few : {Few{"bernoulli,p=0.5", 0.5, 22},        // 2 / 2^n >= 1e-6 / 3
                         Few{"bernoulli,p=0.1", 0.1, 148},       // 2 * 0.9^n
                         Few{"bernoulli,p=0.9", 0.9, 148},       // the same
                         Few{"integers,low=0,high=1", 0.5, 22},  // 2 / 2^n >= 1e-6 / 4
                         Few{"categorical", 0.5, 24}}) {         // 2 * 2 / 2^n >= 1e-6 / 6
    for (const bool more : {false, true}) {
      const std::int64_t n = few.most + (more ? 1 : 0);
      std::vector<double> x;
      std::uint64_t state = 3;
      // `due` makes the number of ones the expected one. Chance only decides their order.
      double due = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        due += few.share;
        const bool one = static_cast<double>(state >> 11) * 0x1p-53 < due;
        x.push_back(one ? 1 : 0);
        due -= one ? 1 : 0;
      }
      const Verdict v =
          verdict_by_law(few.law, vector_of("float32", x), vector_of("float64", {0.5, 0.5}));
      EXPECT_EQ(v.outcome, more ? Outcome::kPass : Outcome::kUntrusted)
          << few.law << " " << n << ": " << v.because;
    }
  }
}

// However rare the drawn values are, the test of repeats assumes that a value of 24 random bits
// comes again with a probability of 2^-24. log(n^2 / 2 * 6 / 1e-6) is less than twice 24 log(2) for
// 8500 draws, and more for 14,000, which need a longer repeat.
TEST(DrawLimits, NoDrawIsRarerThanOneOf24Bits) {
  for (const std::int64_t n : {8500, 14000}) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < n; ++i) x.push_back(6 + static_cast<double>(i) * 0x1p-20);
    const Tensor t = vector_of("float64", x);
    EXPECT_EQ(test_named(verdict_by_law("normal", t, t), "repeats").words,
              n == 8500 ? "no 2 values come twice" : "no 3 values come twice");
  }
}

// -- Which of equal ones is named -----------------------------------------------------------------

TEST(DrawLimits, TheFirstOfEqualFindingsIsNamed) {
  std::vector<double> x;
  std::uint64_t state = 5;
  // Each pair is 0 and 1 in random order.
  for (int i = 0; i < 32; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double one = static_cast<double>(state >> 63);
    x.push_back(one);
    x.push_back(1 - one);
  }
  const Tensor coins = vector_of("int32", x);
  const Verdict v = verdict_by_law("bernoulli,p=0.5", coins, coins);
  ASSERT_EQ(v.outcome, Outcome::kPass) << v.because;
  for (const DrawTest& test : v.tests) EXPECT_EQ(test.p_value, 1) << test.name;
  EXPECT_EQ(v.because,
            "64 draws agree with bernoulli,p=0.5: the least p-value of 3 tests is share of ones 32 "
            "of 64 ones, 32 expected (p 1)");
  EXPECT_EQ(v.worst_ratio, 0);
  EXPECT_EQ(test_named(verdict_by_law("integers,high=1", coins, coins), "counts").words,
            "32 of 64 are 0, 32 expected");
  const Verdict classes = verdict_by_law("categorical", coins, vector_of("float64", {0.5, 0.5}));
  EXPECT_EQ(test_named(classes, "counts").words, "32 of 64 are class 0, 32 expected");
  EXPECT_EQ(test_named(classes, "sums of counts").words,
            "32 of 64 are at most class 0, 32 expected");
}

// -- By hand --------------------------------------------------------------------------------------

// If all draws are alike, each count has the p-value 2 share^n. A test multiplies it by the number
// of its counts. The share is known to +- 2^-23 for random bits, 1e-6 for probabilities and 1e-9
// for classes that are equally likely.
TEST(DrawLimits, SlackOfShares) {
  const Tensor ones = vector_of("int32", std::vector<double>(64, 1)),
               p = vector_of("float64", {0.5, 0.5});
  const auto p_value = [&](const char* law, const char* test) {
    return test_named(verdict_by_law(law, ones, p), test).p_value;
  };
  const auto expect = [](double value, double wanted) {
    EXPECT_NEAR(value / wanted, 1, 2e-8) << wanted;
  };
  expect(p_value("bernoulli,p=0.5", "share of ones"), 2 * std::pow(0.5 + 0x1p-23, 64));
  expect(p_value("integers,high=1", "counts"), 4 * std::pow(0.5 + 1e-9, 64));
  expect(p_value("categorical", "counts"), 4 * std::pow(0.5 + 1e-6, 64));
  expect(p_value("categorical", "sums of counts"), 2 * std::pow(0.5 + 1e-6, 64));
}

// If the rows have different laws, a count that is more than one from its mean has the p-value that
// it has if all rows have the mean probability. Counts that are nearer to the mean have p-value 1.
TEST(DrawLimits, CountsOfRowsThatDifferAreTestedBeyondOneFromTheMean) {
  const auto p_value = [](std::int64_t drawn, double a, double b) {
    std::vector<double> classes(8, 0), rows;
    for (std::int64_t i = 0; i < drawn; ++i) classes[static_cast<std::size_t>(i)] = 1;
    for (int i = 0; i < 4; ++i) rows.insert(rows.end(), {1 - a, a, 1 - b, b});
    const Tensor p = Tensor::from_values(format_named("float64"), {8, 2}, rows);
    return test_named(verdict_by_law("categorical", vector_of("int32", classes), p), "counts")
        .p_value;
  };
  // The expected number of draws of class 1 is 0.5.
  EXPECT_EQ(p_value(1, 1.0 / 32, 3.0 / 32), 1);
  for (const std::int64_t drawn : {2, 3}) {
    const double differing = p_value(drawn, 1.0 / 32, 3.0 / 32);
    EXPECT_LT(differing, 1) << drawn;
    EXPECT_DOUBLE_EQ(differing, p_value(drawn, 1.0 / 16, 1.0 / 16)) << drawn;
  }
}

// A class that is always drawn repeats again and again, which shows nothing.
TEST(DrawLimits, RepeatsOfTheOnlyClassSayNothing) {
  const Tensor classes = vector_of("int32", std::vector<double>(64, 0));
  const Verdict v = verdict_by_law("categorical", classes, vector_of("float64", {1, 0}));
  EXPECT_EQ(test_named(v, "repeats").words, "too few draws to tell");
}

// All draws are one of two classes. F is known to +- 1e-6, which reaches into the step of F before
// or after one half.
TEST(DrawLimits, DistributionFunctionOfOneClass) {
  for (const double drawn : {0.0, 1.0}) {
    const Verdict v =
        verdict_by_law("categorical", vector_of("int32", std::vector<double>(64, drawn)),
                       vector_of("float64", {0.5, 0.5}));
    EXPECT_EQ(test_named(v, "distribution function").statistic,
              (drawn == 0 ? 32767 : 32766) / 65536.0);
    // The probability of each drawn class is the expected one, 0.5.
    EXPECT_EQ(test_named(v, "probability of what was drawn").p_value, 1);
    EXPECT_EQ(test_named(v, "probability of what was drawn").words,
              "0.5 in the mean, expected 0.5");
  }
}

// An element that shows nothing (an input of 0, with or without dropout) counts as the middle, and
// does not correlate with any other.
TEST(DrawLimits, WhatTellsNothingIsInTheMiddle) {
  std::vector<double> x(64, 0), y(64, 0);
  for (const std::size_t i : {5u, 18u}) x[i] = 1, y[i] = 2;
  x[60] = 1;
  const Verdict v =
      verdict_by_law("dropout,p=0.5", vector_of("float32", y), vector_of("float32", x));
  EXPECT_EQ(test_named(v, "share of zeros").words, "1 of 3 zeros, 1.5 expected");
  EXPECT_EQ(test_named(v, "serial correlation").words, "0 between elements 1 apart");
}

// A range of one value is a valid law, but no number of draws tests it. An empty range is not a
// law.
TEST(DrawLimits, OneWholeNumber) {
  const Tensor t = vector_of("int32", std::vector<double>(100, 3));
  EXPECT_EQ(verdict_by_law("integers,low=3,high=3", t, t).outcome, Outcome::kUntrusted);
  const Verdict v = verdict_by_law("integers,low=4,high=3", t, t);
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because, "the law integers needs low of at most high, not 4 and 3");
  const Tensor f = vector_of("float32", std::vector<double>(100, 3));
  EXPECT_EQ(verdict_by_law("uniform,low=3,high=3", f, f).because,
            "the law uniform needs low below high, not 3 and 3");
}

// The search for repeats never reads memory behind the last draw.
TEST(DrawLimits, RepeatsEndWithTheDraws) {
  Draws draws;
  for (std::uint64_t i = 0; i < 1000; ++i) draws.symbols.push_back(1000 + i);
  for (std::uint64_t i = 0; i < 3; ++i) draws.symbols.push_back(1010 + i);
  draws.heaviest = 0x1p-24;
  EXPECT_EQ(repeats_test(draws, 1e-9).words,
            "the 3 values from draw 10 on are the same as those from draw 1 000 on");
  draws.symbols.pop_back();
  EXPECT_EQ(repeats_test(draws, 1e-9).words, "no 3 values come twice");
}

// -- Parameters -----------------------------------------------------------------------------------

// Covers every parameter of every law: its default, its range, and how a law with it is written.
TEST(DrawLimits, ParametersOfTheLaws) {
  struct Row {
    const char *law, *name;
    std::optional<double> default_value;
    std::vector<const char*> taken, refused;
  };
  const std::vector<Row> rows = {
      {"uniform", "low", 0, {"-1e300", "0.5", "2"}, {"x"}},
      {"uniform", "high", 1, {"-1e300", "0.5", "2"}, {"x"}},
      {"uniform", "open_low", 0, {"0", "1"}, {"-1", "0.5", "2"}},
      {"uniform", "open_high", 0, {"0", "1"}, {"-1", "0.5", "2"}},
      {"normal", "mean", 0, {"-1e300", "0.5", "1e300"}, {"x"}},
      {"normal", "deviation", 1, {"1e-300", "0.5", "1e300"}, {"0", "-1"}},
      {"exponential", "rate", 1, {"1e-300", "0.5", "1e300"}, {"0", "-1"}},
      {"integers",
       "low",
       0,
       {"-9007199254740992", "9007199254740992"},
       {"0.5", "-9007199254740994", "9007199254740994"}},
      {"integers",
       "high",
       std::nullopt,
       {"-9007199254740992", "9007199254740992"},
       {"0.5", "-9007199254740994", "9007199254740994"}},
      {"bernoulli", "p", std::nullopt, {"1e-300", "0.5", "0.9999"}, {"0", "1", "-1", "1.5"}},
      {"dropout", "p", std::nullopt, {"1e-300", "0.5", "0.9999"}, {"0", "1", "-1", "1.5"}},
  };
  std::size_t parameters = 0;
  for (const Law& law : laws()) parameters += law.parameters.size();
  EXPECT_EQ(parameters, rows.size());
  for (const Row& row : rows) {
    const LawSpec plain = parse_law(row.law);
    const double default_value = plain.get(row.name);
    if (row.default_value) {
      EXPECT_EQ(default_value, *row.default_value) << row.law << " " << row.name;
    } else {
      EXPECT_TRUE(std::isnan(default_value)) << row.law << " " << row.name;
    }
    for (const char* value : row.taken) {
      const std::string text = formatted("{},{}={}", row.law, row.name, value);
      EXPECT_EQ(parse_law(text).get(row.name), std::strtod(value, nullptr)) << text;
    }
    for (const char* value : row.refused) {
      const std::string text = formatted("{},{}={}", row.law, row.name, value);
      EXPECT_THROW((void)parse_law(text), std::invalid_argument) << text;
    }
  }
  EXPECT_EQ(parse_law("uniform").text(), "uniform,low=0,high=1");
  EXPECT_EQ(parse_law("uniform,open_low=1,delta=0.25").text(),
            "uniform,low=0,high=1,open_low=1,delta=0.25");
  EXPECT_EQ(parse_law("normal").text(), "normal,mean=0,deviation=1");
  EXPECT_EQ(parse_law("exponential").text(), "exponential,rate=1");
  EXPECT_EQ(parse_law("integers,high=7").text(), "integers,low=0,high=7");
  EXPECT_EQ(parse_law("integers,low=-1,high=0").text(), "integers,low=-1,high=0");
  EXPECT_EQ(parse_law("categorical").text(), "categorical");
  for (const char* delta : {"0.5", "1e-300"}) {
    EXPECT_EQ(parse_law(formatted("normal,delta={}", delta)).delta, std::strtod(delta, nullptr));
  }
  for (const char* delta : {"0", "0.51", "-0.1"}) {
    EXPECT_THROW((void)parse_law(formatted("normal,delta={}", delta)), std::invalid_argument);
  }
}

}  // namespace
}  // namespace assay
