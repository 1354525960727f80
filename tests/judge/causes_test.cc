// Tests which cause a failure's text names. Special values come first, then the cause that explains
// most mismatches. Each test plants one cause and reads the whole text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "assay/judge/verdict.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::Dice;
using oracle::tolerance;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::int64_t kCauseRows = 24, kCauseColumns = 32;
constexpr double kCauseNan = std::numeric_limits<double>::quiet_NaN();

using CauseValues = std::vector<double>;

CauseValues drawn_values(std::uint64_t seed = 3) {
  Dice dice(seed);
  CauseValues values(static_cast<std::size_t>(kCauseRows * kCauseColumns));
  for (double& v : values) v = 8 * dice.uniform() - 4;
  return values;
}

double& element(CauseValues& values, std::int64_t row, std::int64_t column) {
  return values[static_cast<std::size_t>(row * kCauseColumns + column)];
}

Verdict judged_as(std::string_view dtype, const CauseValues& actual, const CauseValues& expected,
                  const Bound& bound) {
  return judge(Tensor::from_values(format_named(dtype), {kCauseRows, kCauseColumns}, actual),
               Tensor::from_values(format_named("float64"), {kCauseRows, kCauseColumns}, expected),
               bound);
}
std::string where(const CauseValues& actual, const CauseValues& expected) {
  return judged_as("float32", actual, expected, tolerance(1e-5, 1e-5)).where;
}

TEST(Causes, NanInRows) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < kCauseColumns; ++c)
    element(actual, 3, c) = element(actual, 9, c) = kCauseNan;
  EXPECT_EQ(where(actual, expected),
            "the output is NaN at 64 of 64 mismatches in rows 3 and 9, where finite values are "
            "expected");
}

// The reversed bytes of a NaN are a number near the expected 0. The text must nevertheless name the
// NaN as the cause, and not reversed bytes.
TEST(Causes, NanWhereZeroIsExpected) {
  CauseValues expected = drawn_values();
  for (std::int64_t c = 0; c < kCauseColumns; ++c) element(expected, 5, c) = 0;
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < kCauseColumns; ++c) element(actual, 5, c) = kCauseNan;
  EXPECT_EQ(
      where(actual, expected),
      "the output is NaN at 32 of 32 mismatches in row 5, where finite values are expected: is 0 "
      "divided by 0, or multiplied by infinity?");
}

// Under a huge tolerance, every number that one flip makes of the NaN would pass, which shows
// nothing. The text must not name a flip.
TEST(Causes, OneNanUnderAHugeTolerance) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  element(actual, 7, 7) = kCauseNan;
  EXPECT_EQ(judged_as("float32", actual, expected, tolerance(1e30, 0)).where,
            "the output is NaN at 1 of 1 mismatch, where finite values are expected");
}

TEST(Causes, OverflowToNanOfFloat8) {
  CauseValues expected = drawn_values();
  for (double& v : expected) v = std::round(v);
  for (std::int64_t c = 0; c < 6; ++c) element(expected, 2, c) = 448;
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < 6; ++c) element(actual, 2, c) = kCauseNan;
  EXPECT_EQ(judged_as("float8_e4m3fn", actual, expected, tolerance(0, 0.0625)).where,
            "all in row 2; the output is NaN at 6 of 6 mismatches, where finite values are "
            "expected: does "
            "it overflow instead of saturating?");
}

TEST(Causes, AGoldenResultThatRoundsToNan) {
  CauseValues expected = drawn_values();
  for (double& v : expected) v = std::round(v);
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < 3; ++c) {
    element(expected, 2, c) = 1000;
    element(actual, 2, c) = 448;
  }
  EXPECT_THAT(judged_as("float8_e4m3fn", actual, expected, tolerance(0, 0.0625)).where,
              HasSubstr("1000 rounds to NaN in float8_e4m3fn, whose largest value is 448: NaN is "
                        "expected at 3 of 3 mismatches. If the output is to saturate, judge it "
                        "with infinity saturating"));
}

TEST(Causes, RowsThatRepeatTheRowAbove) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (const std::int64_t row : {4, 11, 17}) {
    for (std::int64_t c = 0; c < kCauseColumns; ++c) {
      element(actual, row, c) = element(actual, row - 1, c);
    }
  }
  EXPECT_EQ(where(actual, expected),
            "rows 4, 11 and 17 repeat the row above (explains 96 of 96 mismatches)");
  // Two other wrong elements do not hide the cause.
  element(actual, 0, 5) = 100, element(actual, 20, 20) = -77;
  EXPECT_THAT(where(actual, expected),
              HasSubstr("rows 4, 11 and 17 repeat the row above (explains 96 of 98 mismatches)"));
}

TEST(Causes, ATileThatRepeatsTheOneToTheLeft) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (std::int64_t r = 8; r < 16; ++r) {
    for (std::int64_t c = 16; c < 24; ++c) element(actual, r, c) = element(actual, r, c - 8);
  }
  EXPECT_EQ(where(actual, expected),
            "in an aligned tile: rows 8 to 15, columns 16 to 23; elements repeat what stands 8 "
            "columns to the left (explains 64 of 64 mismatches)");
}

// If rows are expected to be alike, a wrong row is not reported as a repeated row.
TEST(Causes, NoRepeatOfAlikeRows) {
  CauseValues expected(static_cast<std::size_t>(kCauseRows * kCauseColumns), 2.0),
      actual = expected;
  for (std::int64_t r = 4; r < 6; ++r) {
    for (std::int64_t c = 0; c < kCauseColumns; ++c) element(actual, r, c) = 1;
  }
  EXPECT_THAT(where(actual, expected), Not(HasSubstr("repeat")));
}

TEST(Causes, RowsInAnotherOrder) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (std::int64_t r = 0; r < kCauseRows; ++r) {
    for (std::int64_t c = 0; c < kCauseColumns; ++c) {
      element(actual, r, c) =
          expected[static_cast<std::size_t>(r * 5 % kCauseRows * kCauseColumns + c)];
    }
  }
  EXPECT_THAT(where(actual, expected),
              HasSubstr("the output with its rows in another order (row 1 holds row 5, ...) would "
                        "pass"));
}

TEST(Causes, AFactorForEachRow) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < kCauseColumns; ++c) {
    element(actual, 3, c) *= 1.25;
    element(actual, 9, c) *= 0.5;
  }
  EXPECT_EQ(where(actual, expected),
            "all in rows 3 and 9; the output with a factor for each of 2 rows (row 3 times 0.8) "
            "would pass (explains 64 of 64 mismatches)");
}

TEST(Causes, NegativeValuesTimesAFactor) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (double& v : actual) v = v < 0 ? v / 8 : v;
  EXPECT_THAT(where(actual, expected),
              HasSubstr("the output with its negative values times 8 would pass"));
}

TEST(Causes, ExchangedHalvesOfAWord) {
  const CauseValues expected = drawn_values();
  Tensor output =
      Tensor::from_values(format_named("float32"), {kCauseRows, kCauseColumns}, expected);
  for (std::int64_t p = 0; p < output.size(); ++p) {
    const std::uint64_t bits = output.bits_at(p);
    output.set_bits(p, bits >> 16 | (bits & 0xffff) << 16);
  }
  EXPECT_THAT(
      judge(output,
            Tensor::from_values(format_named("float64"), {kCauseRows, kCauseColumns}, expected),
            tolerance(1e-5, 1e-5))
          .where,
      HasSubstr("the output with the halves of each element exchanged would pass"));
}

TEST(Causes, AStuckBit) {
  const CauseValues expected = drawn_values();
  Tensor output =
      Tensor::from_values(format_named("float32"), {kCauseRows, kCauseColumns}, expected);
  for (std::int64_t p = 0; p < output.size(); ++p) {
    output.set_bits(p, output.bits_at(p) & ~(std::uint64_t{1} << 22));
  }
  const std::string text =
      judge(output,
            Tensor::from_values(format_named("float64"), {kCauseRows, kCauseColumns}, expected),
            tolerance(1e-5, 1e-5))
          .where;
  EXPECT_THAT(text, HasSubstr("the output with bit 22 flipped back would pass"));
  EXPECT_THAT(text, testing::EndsWith("mismatches): it is 0 in every element"));
}

TEST(Causes, AResultThatIsCutOff) {
  const CauseValues expected = drawn_values();
  const Format& f = format_named("bfloat16");
  Tensor output(f, {kCauseRows, kCauseColumns});
  for (std::int64_t p = 0; p < output.size(); ++p) {
    const double v = expected[static_cast<std::size_t>(p)];
    std::uint64_t bits = encode(f, v);
    if (std::abs(decode(f, bits)) > std::abs(v))
      bits = v > 0 ? next_down(f, bits) : next_up(f, bits);
    output.set_bits(p, bits);
  }
  const Verdict v = judge(
      output, Tensor::from_values(format_named("float64"), {kCauseRows, kCauseColumns}, expected),
      tolerance(0, 0x1p-9));
  EXPECT_THAT(v.where, HasSubstr("the output is cut off: it is rounded toward zero at "));
  EXPECT_TRUE(v.explained);
}

// This cause is guessed only from the place of the mismatches, so that other causes come first.
TEST(Causes, ATailOfOtherValues) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  const CauseValues other = drawn_values(99);
  for (std::int64_t r = kCauseRows - 3; r < kCauseRows; ++r) {
    for (std::int64_t c = 0; c < kCauseColumns; ++c) {
      element(actual, r, c) = other[static_cast<std::size_t>(c * 7 + r)];
    }
  }
  const Verdict v = judged_as("float32", actual, expected, tolerance(1e-5, 1e-5));
  EXPECT_EQ(
      v.where,
      "the tail, from row 21 on, is wrong (explains 96 of 96 mismatches): was it ever written, "
      "or is it stale?");
  EXPECT_FALSE(v.explained);
}

// A single wrong value has no cause, even if some flip of a bit would explain it.
TEST(Causes, OfOneWrongValueNoneIsNamed) {
  const CauseValues expected = drawn_values();
  for (const double wrong : {0.1, -3.7, 17.3, 1e6}) {
    CauseValues actual = expected;
    element(actual, 11, 13) = wrong;
    const Verdict v = judged_as("float32", actual, expected, tolerance(1e-5, 1e-5));
    EXPECT_EQ(v.where, "") << wrong;
    EXPECT_FALSE(v.explained);
  }
}

// A wrong sign in one row is a flipped bit there, not a factor of the whole output.
TEST(Causes, TheCauseThatBreaksLeastIsNamed) {
  const CauseValues expected = drawn_values();
  CauseValues actual = expected;
  for (std::int64_t c = 0; c < kCauseColumns; ++c) element(actual, 6, c) *= -1;
  EXPECT_THAT(where(actual, expected),
              StartsWith("all in row 6; the output with bit 31 flipped back would pass"));
}

}  // namespace
}  // namespace assay
