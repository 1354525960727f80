// Tests that integers and bools are judged exactly, even beyond the integers that float64 holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/int128.h"
#include "assay/base/text.h"
#include "assay/judge/verdict.h"
#include "assay/report.h"
#include "assay/report/gate_text.h"
#include "emulated.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same_bits;
using oracle::tolerance;
using oracle::vector_of;
using oracle::within_ulps;
using ::testing::HasSubstr;

constexpr std::int64_t kLow = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kHigh = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t k53 = std::int64_t{1} << 53;

Verdict judged(const std::vector<std::int64_t>& actual, const std::vector<std::int64_t>& expected,
               const Bound& bound) {
  return judge(view(actual), view(expected), bound);
}

TEST(JudgeIntegers, Beyond2To53) {
  const Verdict v = judged({k53, k53 + 1, kHigh, kLow, 5}, {k53 + 1, k53 + 1, kHigh - 1, kHigh, 5},
                           tolerance(0, 0));
  EXPECT_EQ(v.mismatches, 3);
  ASSERT_EQ(v.worst.size(), 3u);
  EXPECT_EQ(v.worst[0].linear, 3);
  EXPECT_EQ(v.worst[0].error, 0x1p64);
  EXPECT_EQ(v.worst[0].ulps, ~std::uint64_t{0});
  EXPECT_EQ(v.worst[1].linear, 0);
  EXPECT_EQ(v.worst[1].error, 1);
  EXPECT_EQ(v.worst[1].actual_bits, static_cast<std::uint64_t>(k53));
  EXPECT_EQ(v.worst[1].expected_bits, static_cast<std::uint64_t>(k53 + 1));
  EXPECT_EQ(judged({k53}, {k53 + 1}, same_bits()).mismatches, 1);
  EXPECT_EQ(judged({k53}, {k53 + 1}, within_ulps(0)).mismatches, 1);
  EXPECT_EQ(judged({k53}, {k53 + 1}, within_ulps(1)).mismatches, 0);
  EXPECT_EQ(judged({kHigh}, {kHigh - 3}, tolerance(2, 0)).mismatches, 1);
  EXPECT_EQ(judged({kHigh}, {kHigh - 3}, tolerance(3, 0)).mismatches, 0);
}

// The whole range of uint64 is judged, including its upper half.
TEST(JudgeIntegers, Beyond2To63) {
  constexpr std::uint64_t k63 = std::uint64_t{1} << 63, kMost = ~std::uint64_t{0};
  const std::vector<std::uint64_t> actual = {k63, kMost, 0, k63 - 1}, same = actual,
                                   expected = {k63 + 1, kMost - 3, kMost, k63};
  EXPECT_EQ(judge(view(actual), view(same), tolerance(0, 0)).mismatches, 0);
  const Verdict v = judge(view(actual), view(expected), tolerance(2, 0));
  EXPECT_EQ(v.mismatches, 2);
  ASSERT_EQ(v.worst.size(), 2u);
  EXPECT_EQ(v.worst[0].linear, 2);
  EXPECT_EQ(v.worst[0].error, 0x1p64);
  EXPECT_EQ(v.worst[0].ulps, kMost);
  EXPECT_EQ(v.worst[1].error, 3);
  EXPECT_EQ(judge(view(actual), view(expected), within_ulps(3)).mismatches, 1);
}

// An error just above the bound is a mismatch, even if float64 would round it down to the bound.
TEST(JudgeIntegers, ToleranceBeyond2To53IsExact) {
  EXPECT_EQ(judged({k53}, {0}, tolerance(0x1p53, 0)).mismatches, 0);
  EXPECT_EQ(judged({k53 + 1}, {0}, tolerance(0x1p53, 0)).mismatches, 1);
  EXPECT_EQ(judged({k53 + 1}, {0}, within_ulps(std::uint64_t{1} << 53)).mismatches, 1);
}

TEST(JudgeIntegers, MetricsBeyond2To53) {
  const Verdict v = judged({k53 + 1, 1}, {k53, 1}, tolerance(0, 0));
  ASSERT_EQ(v.mismatches, 1);
  EXPECT_FALSE(v.metrics->bit_identical);
  EXPECT_EQ(v.metrics->max_abs_error, 1);
  EXPECT_EQ(v.metrics->max_ulps, 1u);
  EXPECT_GE(v.metrics->required_atol, 1);
}

TEST(JudgeIntegers, GoldenInFloat64) {
  const std::vector<std::int64_t> output = {3, -4};
  EXPECT_EQ(judge(view(output), vector_of("float64", {3.25, -4}), tolerance(0, 0)).outcome,
            Outcome::kPass);  // the golden values are rounded to the output's dtype
  EXPECT_EQ(judge(vector_of("int32", {3}), vector_of("float64", {3.25}), tolerance(0, 0, false))
                .mismatches,
            1);
  EXPECT_EQ(
      judge(vector_of("int32", {3}), vector_of("float64", {kInfinity}), tolerance(5, 5, false))
          .mismatches,
      1);
}

TEST(JudgeIntegers, GoldenInFloat64IsExactBeyond2To53) {
  const std::vector<std::int64_t> output = {k53 + 1};
  for (const Bound& bound : {tolerance(0, 0), same_bits()}) {
    EXPECT_EQ(judge(view(output), vector_of("float64", {0x1p53}), bound).mismatches, 1);
  }
}

// A NaN in the golden result is a mismatch for an integer output. It does not change how the other
// elements of its block are judged.
TEST(JudgeIntegers, NanInTheGoldenResult) {
  for (const Bound& bound : {tolerance(0, 0), tolerance(0, 0, true, true), same_bits()}) {
    const Verdict v = judge(vector_of("int32", {2, 7}), vector_of("float64", {2.25, kNan}), bound);
    EXPECT_EQ(v.outcome, Outcome::kFail);
    EXPECT_EQ(v.mismatches, 1) << "the first element is 2.25 rounded to int32";
    ASSERT_FALSE(v.worst.empty());
    EXPECT_EQ(v.worst[0].linear, 1);
  }
}

// judge() does not throw on a numeric result: a NaN that the output's dtype cannot hold is a
// mismatch.
TEST(JudgeIntegers, NanThatTheOutputCannotHoldDoesNotThrow) {
  for (const char* dtype : {"int32", "uint8", "bool", "float6_e2m3fn", "float4_e2m1fn"}) {
    for (const Bound& bound : {tolerance(0, 0), tolerance(0, 0, false), tolerance(0.1, 0),
                               within_ulps(1), same_bits()}) {
      SCOPED_TRACE(std::string(dtype) + " " + bound.text());
      Verdict v;
      EXPECT_NO_THROW(v = judge(vector_of(dtype, {1, 0}), vector_of("float64", {1, kNan}), bound));
      if (v.sites > 0) {
        EXPECT_EQ(v.mismatches, 1);
      }
    }
  }
}

TEST(JudgeIntegers, UnsignedAndSignedEnds) {
  const Verdict u =
      judge(vector_of("uint8", {255, 0, 128}), vector_of("uint8", {0, 255, 127}), tolerance(1, 0));
  EXPECT_EQ(u.mismatches, 2);
  EXPECT_EQ(u.worst[0].error, 255);
  EXPECT_EQ(u.worst[0].ulps, 255u);
  EXPECT_EQ(u.worst[0].actual, 255);
  const Verdict s =
      judge(vector_of("int8", {-128, -1}), vector_of("int8", {127, 0}), tolerance(1, 0));
  EXPECT_EQ(s.mismatches, 1);
  EXPECT_EQ(s.worst[0].error, 255);
}

TEST(JudgeIntegers, NarrowAgainstWide) {
  EXPECT_EQ(
      judge(vector_of("int8", {-5, 100}), vector_of("int64", {-5, 100}), tolerance(0, 0)).outcome,
      Outcome::kPass);
  // 300 is not wrapped to 44, the int8 with the same low bits, but is a mismatch.
  EXPECT_EQ(judge(vector_of("int8", {44}), vector_of("int64", {300}), tolerance(0, 0)).mismatches,
            1);
  EXPECT_EQ(judge(vector_of("int8", {44}), vector_of("int64", {300}), same_bits()).mismatches, 1);
  EXPECT_EQ(judge(vector_of("uint8", {255}), vector_of("int8", {-1}), same_bits()).mismatches, 1);
}

// A value that the output's dtype does not hold is not rounded to it. The metrics and the listed
// element keep the full error.
TEST(JudgeIntegers, ExpectedBeyondTheOutputsDtype) {
  struct Row {
    const char *output, *golden;
    double actual, expected;
    std::uint64_t distance;
  };
  const Row rows[] = {{"uint8", "int32", 255, 300, 45},
                      {"uint8", "float64", 255, 300, 45},
                      {"uint8", "int8", 255, -1, 256},
                      {"int8", "uint8", 127, 128, 1},
                      {"uint64", "int64", 0, -0x1p63, 1ull << 63},
                      {"int64", "uint64", 0, 0x1p63, 1ull << 63},
                      {"int4", "int8", -8, -9, 1}};
  for (const Row& row : rows) {
    SCOPED_TRACE(testing::Message() << row.output << " against " << row.golden);
    const Tensor a = vector_of(row.output, {row.actual, 5, 7}),
                 e = vector_of(row.golden, {row.expected, 5, 7});
    const auto distance = static_cast<double>(row.distance);
    const std::vector<Bound> refusing = {same_bits(), within_ulps(row.distance - 1),
                                         tolerance(distance - 1, 0),
                                         tolerance(distance - 1, 0, false)};
    for (const Bound& bound : refusing) {
      SCOPED_TRACE(bound.text());
      if (distance - 1 == distance && bound.rule == Rule::kTolerance) continue;
      const Verdict v = judge(a, e, bound);
      EXPECT_EQ(v.outcome, Outcome::kFail);
      ASSERT_EQ(v.worst.size(), 1u);
      EXPECT_TRUE(v.worst[0].expected_is_beyond);
      EXPECT_EQ(v.worst[0].expected, row.expected);
      EXPECT_EQ(v.worst[0].ulps, row.distance);
      EXPECT_FALSE(v.metrics->bit_identical);
      EXPECT_EQ(v.metrics->max_abs_error, distance);
      EXPECT_EQ(v.metrics->max_ulps, row.distance);
      EXPECT_EQ(v.metrics->required_atol, distance);
    }
    EXPECT_EQ(judge(a, e, within_ulps(row.distance)).mismatches, 0);
    EXPECT_EQ(judge(a, e, tolerance(distance, 0)).mismatches, 0);
  }
}

// The metrics measure errors from the float golden values as stored, in every width, even if the
// verdict rounds these values.
TEST(JudgeIntegers, FractionsInEveryWidth) {
  for (const char* dtype : {"int8", "uint8", "int16", "int32", "int64", "uint64"}) {
    SCOPED_TRACE(dtype);
    const Tensor a = vector_of(dtype, {2, 0, 7}), e = vector_of("float64", {2.25, 0.375, 7});
    const Verdict rounded = judge(a, e, tolerance(0, 0)),
                  stored = judge(a, e, tolerance(0, 0, false));
    EXPECT_EQ(rounded.mismatches, 0);
    EXPECT_EQ(stored.mismatches, 2);
    for (const Verdict& v : {rounded, stored}) {
      EXPECT_EQ(v.metrics->max_abs_error, 0.375);
      EXPECT_EQ(v.metrics->max_ulps, 0u);
      EXPECT_TRUE(v.metrics->bit_identical);
      EXPECT_TRUE(v.metrics->expected_rounds);
    }
    EXPECT_EQ(rounded.metrics->required_atol, 0);
    EXPECT_EQ(stored.metrics->required_atol, 0.375);
  }
}

// Two tensors without a case do not say that the output is meant to hold integers. So no dtype of
// integers is comparable with float values that would have to be rounded, by any rule.
TEST(JudgeIntegers, WholeNumbersRefuseFractions) {
  Bound bits = same_bits(), ulps = within_ulps(1), loose = tolerance(1, 0), tight = tolerance(0, 0);
  for (Bound* bound : {&bits, &ulps, &loose, &tight}) bound->whole_numbers = true;
  Bound stored = tolerance(0.5, 0, false);
  stored.whole_numbers = true;
  int integers = 0;
  for (const Format& f : formats()) {
    if (f.is_float()) continue;
    ++integers;
    for (const Format& golden : formats()) {
      if (golden.name != "float64" && golden.name != "float32" && golden.name != "bfloat16")
        continue;
      SCOPED_TRACE(testing::Message() << f.name << " against " << golden.name);
      const Tensor a = vector_of(f.name, {1, 0, 1, 0}),
                   whole = vector_of(golden.name, {1, 0, 1, 0}),
                   fractions = vector_of(golden.name, {1, 0.25, 1, 0.5});
      for (const Bound& bound : {bits, ulps, loose, tight}) {
        SCOPED_TRACE(bound.text());
        const Verdict v = judge(a, fractions, bound);
        EXPECT_EQ(v.outcome, Outcome::kNotComparable);
        EXPECT_EQ(v.because,
                  formatted("the output is {}, but 2 of 4 expected values ({}) are not whole "
                            "numbers, the first is 0.25 at [1]; return an output of a float dtype, "
                            "or round the expected result if integers are right",
                            f.name, golden.name));
        // A rule that allows an error of 1 does not trust zeros and ones.
        const Verdict same = judge(a, whole, bound);
        EXPECT_NE(same.outcome, Outcome::kNotComparable);
        EXPECT_NE(same.outcome, Outcome::kFail);
      }
      const Verdict passed = judge(a, whole, tight);
      EXPECT_EQ(passed.outcome, Outcome::kPass);
      ASSERT_EQ(passed.notes.size(), 1u);
      EXPECT_EQ(passed.notes.front(),
                formatted("the output is {} and the expected result is {}, but all expected values "
                          "are whole numbers",
                          f.name, golden.name));
      // A standard that compares with the value as it is stored rounds nothing.
      EXPECT_NE(judge(a, fractions, stored).outcome, Outcome::kNotComparable);
      // A case that says its output dtype has the golden result rounded.
      EXPECT_EQ(judge(a, vector_of(golden.name, {1, 0, 1, 0}), tolerance(0, 0)).notes.size(), 0u);
    }
  }
  EXPECT_GE(integers, 9);
}

TEST(JudgeIntegers, Bool) {
  EXPECT_EQ(
      judge(vector_of("bool", {1, 0, 1}), vector_of("bool", {1, 0, 1}), tolerance(0, 0)).outcome,
      Outcome::kPass);
  const Verdict v =
      judge(vector_of("bool", {1, 1, 0}), vector_of("bool", {1, 0, 1}), tolerance(0, 0));
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.because, "2 of 3 elements (66.7 %) differ");
  // For a bool output, every finite golden number other than 0 is true, however large.
  const std::vector<double> far = {0x1p119, 0x1p120, -1e300, 0x1p-1074, 0};
  EXPECT_EQ(
      judge(vector_of("bool", {1, 1, 1, 1, 0}), vector_of("float64", far), tolerance(0, 0)).outcome,
      Outcome::kPass);
  EXPECT_EQ(judge(vector_of("bool", {0, 0, 0, 0, 1}), vector_of("float64", far), tolerance(0, 0))
                .mismatches,
            5);
}

// A bound that an output of zeros meets proves nothing, for integers as for floats.
TEST(JudgeIntegers, BoundSoWideThatZerosPass) {
  const Tensor golden = vector_of("int32", {-3, 5, 9, 1});
  for (const Bound& bound : {tolerance(10, 0), tolerance(0, 1), within_ulps(9)}) {
    EXPECT_EQ(judge(Tensor(golden), golden, bound).outcome, Outcome::kUntrusted) << bound.text();
    EXPECT_EQ(judge(vector_of("int32", {0, 0, 0, 0}), golden, bound).outcome, Outcome::kUntrusted)
        << bound.text();
  }
  // With a tolerance of 8, three of the four elements are blind. With 4, only two are.
  EXPECT_EQ(judge(Tensor(golden), golden, tolerance(8, 0)).outcome, Outcome::kUntrusted);
  EXPECT_EQ(judge(Tensor(golden), golden, tolerance(4, 0)).outcome, Outcome::kPass);
  EXPECT_EQ(judge(Tensor(golden), golden, within_ulps(4)).outcome, Outcome::kPass);
}

// Differences are exact below 2^120. An expected value beyond that is infinitely far from every
// integer, whatever the bound.
TEST(JudgeIntegers, ExpectedValuesBeyondExactDifferences) {
  const auto zero_against = [](double expected) {
    const std::int64_t output[] = {0};
    return judge(view(output), vector_of("float64", {expected}), tolerance(0, 1));
  };
  EXPECT_EQ(zero_against(-0x1p119).mismatches, 0);
  for (const double far : {0x1p120, -0x1p120, 0x1p200}) {
    const Verdict v = zero_against(far);
    EXPECT_EQ(v.mismatches, 1) << far;
    ASSERT_EQ(v.worst.size(), 1u) << far;
    EXPECT_EQ(v.worst[0].error, kInfinity) << far;
  }
}

// Compares the distance of any two 64-bit integers with an oracle of 128 bits: mismatches, metrics,
// printed values and JSON.
TEST(JudgeIntegers, DistancesOfAnyTwo) {
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  std::vector<Int128> numbers;
  for (const int bits : {0, 1, 52, 53, 54, 60, 62, 63, 64}) {
    for (const int off : {-2, -1, 0, 1, 2}) {
      if (walks_a_share() && std::abs(off) > 1) continue;
      for (const int sign : {-1, 1}) numbers.push_back(sign * ((Int128{1} << bits) + off));
    }
  }
  const auto holds = [](bool is_signed, Int128 x) {
    return is_signed ? x >= kLow && x <= kHigh : x >= 0 && x <= static_cast<Int128>(kMost);
  };
  int pairs = 0;
  const auto check = [&](const TensorView& actual, const TensorView& expected, Int128 apart) {
    SCOPED_TRACE(formatted("{} {} against {} {}", actual.format->name, actual.bits_at(0),
                           expected.format->name, expected.bits_at(0)));
    const auto ulps = static_cast<std::uint64_t>(std::min<Int128>(apart, kMost));
    ++pairs;
    if (apart == ulps) {
      EXPECT_EQ(judge(actual, expected, within_ulps(ulps)).mismatches, 0);
    }
    if (ulps == 0) return;
    const Verdict v = judge(actual, expected, within_ulps(ulps - 1));
    ASSERT_EQ(v.mismatches, 1);
    EXPECT_EQ(v.worst.at(0).ulps, ulps);
    EXPECT_EQ(v.metrics->max_ulps, ulps);
    EXPECT_EQ(v.metrics->mean_ulps, static_cast<double>(ulps));
    const std::string json = wire::verdict_json(v);
    EXPECT_THAT(json, HasSubstr(formatted("\"ulps\": {},", ulps - 1)));
    EXPECT_THAT(json, HasSubstr(formatted("\"ulps\": {}\n", ulps)));
    EXPECT_THAT(json, HasSubstr(formatted("\"max_ulp\": {},", ulps)));
    EXPECT_THAT(report::explain(v, ""),
                HasSubstr(formatted(", {} ulp\n", grouped(std::to_string(ulps)))));
    // The real distance is larger than the largest one that is counted.
    if (apart != ulps) return;
    // Limits are float64. A limit that is rounded below the distance is exceeded.
    const auto limit = static_cast<double>(ulps);
    for (const Limit& one :
         {Limit{Statistic::kShareUlps, 0.5, limit}, Limit{Statistic::kMaxAbsUlps, limit}}) {
      Bound statistic;
      statistic.rule = Rule::kStatistics;
      statistic.limits = {one};
      EXPECT_EQ(judge(actual, expected, statistic).outcome == Outcome::kFail,
                apart > static_cast<Int128>(limit))
          << one.text();
    }
  };
  for (const Int128 a : numbers) {
    for (const Int128 e : numbers) {
      const Int128 apart = a > e ? a - e : e - a;
      const std::vector<std::int64_t> sa = {static_cast<std::int64_t>(a)},
                                      se = {static_cast<std::int64_t>(e)};
      const std::vector<std::uint64_t> ua = {static_cast<std::uint64_t>(a)},
                                       ue = {static_cast<std::uint64_t>(e)};
      if (holds(true, a) && holds(true, e)) check(view(sa), view(se), apart);
      if (holds(false, a) && holds(false, e)) check(view(ua), view(ue), apart);
      if (holds(true, a) && holds(false, e)) check(view(sa), view(ue), apart);
      const std::vector<std::int32_t> ia = {static_cast<std::int32_t>(a)};
      if (ia[0] == a && holds(true, e)) check(view(ia), view(se), apart);
      const std::vector<double> fe = {static_cast<double>(e)};
      if (static_cast<Int128>(fe[0]) != e) continue;
      if (holds(true, a)) check(view(sa), view(fe), apart);
      if (ia[0] == a) check(view(ia), view(fe), apart);
    }
  }
  EXPECT_GT(pairs, walks_a_share() ? 3000 : 10000);
}

}  // namespace
}  // namespace assay
