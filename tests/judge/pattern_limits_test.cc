// Tests the limits of patterns: a pattern is named on one side of the limit, and not on the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/pattern.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::tolerance;
using oracle::vector_of;
using testing::HasSubstr;
using testing::Not;

using PatternValues = std::vector<double>;

std::string where_of(const PatternValues& actual, const PatternValues& expected,
                     double rtol = 1e-3) {
  return judge(vector_of("float32", actual), vector_of("float32", expected), tolerance(0, rtol))
      .where;
}

// Returns `size` values: `many` values from 1 to 3 in no order, then zeros.
PatternValues of_one_to_three(std::size_t many, std::size_t size) {
  PatternValues values(size);
  for (std::size_t i = 0; i < many; ++i) {
    values[i] = 1 + 2 * static_cast<double>(i * 7919 % many) / static_cast<double>(many - 1);
  }
  return values;
}

PatternValues divided(PatternValues values, double by) {
  for (double& v : values) v /= by;
  return values;
}

// A factor that is less than 2 percent away from 1 is named only if there are many mismatches.
TEST(PatternLimits, AFactorOfFewMissesIsTwoPercentOffOne) {
  const PatternValues few = of_one_to_three(20, 300), many = of_one_to_three(32, 300);
  for (const double factor : {1.019, 1.021, 1.03, 1.045, 0.981, 0.979, 0.97}) {
    const auto names = HasSubstr(formatted("the output times {}", short_number(factor, 6)));
    EXPECT_THAT(where_of(divided(many, factor), many), names);
    if (std::abs(factor - 1) < 0.02) {
      EXPECT_THAT(where_of(divided(few, factor), few), Not(HasSubstr("times")));
    } else {
      EXPECT_THAT(where_of(divided(few, factor), few), names);
    }
  }
}

// If all values have one size, a constant difference explains them as well as a factor. One value
// must be half as large again as another.
TEST(PatternLimits, AFactorNeedsValuesOfTwoSizes) {
  for (const double largest : {1.25, 1.4375, 1.5, 2.0}) {
    const PatternValues expected = {1, largest, -1.125, largest, -1, 1.25};
    const std::string where = where_of(divided(expected, 3), expected);
    EXPECT_EQ(where.find("the output times 3") != std::string::npos, largest >= 1.5) << where;
  }
}

// A factor needs at least four mismatches.
TEST(PatternLimits, AFactorNeedsFourMisses) {
  for (const std::size_t mismatches : {2u, 3u, 4u, 5u}) {
    const PatternValues expected = of_one_to_three(mismatches, 16);
    const std::string where = where_of(divided(expected, 3), expected);
    EXPECT_EQ(where.find("the output times 3") != std::string::npos, mismatches >= 4) << where;
  }
}

// A round factor is within 5 percent of the one that fits.
TEST(PatternLimits, ARoundFactorIsFivePercentOff) {
  const PatternValues expected = of_one_to_three(40, 40);
  for (const double factor : {3.14, 3.17, 2.87, 2.84, 2.09, 2.11, -3.14, -3.17}) {
    const double round = std::round(factor);
    const bool near = std::abs(factor / round - 1) < 0.055 && std::abs(round / factor - 1) < 0.05;
    EXPECT_THAT(where_of(divided(expected, factor), expected, 0.125),
                HasSubstr(formatted("the output times {} would pass", near ? round : factor)));
  }
}

// A factor must explain nine of ten mismatches.
TEST(PatternLimits, AFactorExplainsNineOfTenMisses) {
  const PatternValues expected = of_one_to_three(40, 40);
  for (const std::size_t others : {3u, 4u, 5u}) {
    PatternValues actual = divided(expected, 3);
    for (std::size_t i = 0; i < others; ++i) actual[i * 9] = -5 - static_cast<double>(i);
    const std::string where = where_of(actual, expected);
    EXPECT_EQ(where.find(formatted("the output times 3 explains {} of 40 mismatches",
                                   40 - others)) != std::string::npos,
              others <= 4)
        << where;
  }
}

// A single value is named if it is at nine of ten mismatches. It is also named if it is at all but
// four, and these four are at most a fifth. The value must be at four or more mismatches.
TEST(PatternLimits, OneValueAtNineOfTenMisses) {
  const auto where = [](std::size_t alike, std::size_t others) {
    PatternValues expected, actual;
    for (std::size_t i = 0; i < 3 * (alike + others); ++i) {
      expected.push_back(100 + static_cast<double>(i * i % 41));
      const std::size_t mismatch = i / 3;
      actual.push_back(i % 3 != 1         ? expected.back()
                       : mismatch < alike ? 7
                                          : 300 + static_cast<double>(mismatch * mismatch));
    }
    return where_of(actual, expected);
  };
  EXPECT_THAT(where(18, 2), HasSubstr("the output is 7 (0x40e00000) at 18 of 20 mismatches"));
  EXPECT_THAT(where(16, 4), HasSubstr("the output is 7 (0x40e00000) at 16 of 20 mismatches"));
  EXPECT_THAT(where(15, 5), Not(HasSubstr("the output is")));
  EXPECT_THAT(where(15, 4), Not(HasSubstr("the output is")));
  EXPECT_THAT(where(4, 0), HasSubstr("the output is 7 (0x40e00000) at 4 of 4 mismatches"));
  EXPECT_THAT(where(3, 0), Not(HasSubstr("the output is")));
}

// A tail from a position on is named if nine of ten mismatches lie in it. It is also named if all
// but four do, and these four are at most a fifth. The tail must have four or more mismatches.
TEST(PatternLimits, ATailHasNineOfTenMisses) {
  const auto where = [](std::size_t tail, std::size_t before) {
    PatternValues expected;
    for (std::size_t i = 0; i < 60; ++i) expected.push_back(100 + static_cast<double>(i * i % 41));
    PatternValues actual = expected;
    for (std::size_t i = 0; i < before; ++i) actual[3 * i + 1] = 7;
    for (std::size_t i = 60 - tail; i < 60; ++i) actual[i] = 7;
    return where_of(actual, expected);
  };
  EXPECT_THAT(where(18, 2), HasSubstr("from position 42 on, every element of the output is 7"));
  EXPECT_THAT(where(16, 4), HasSubstr("from position 44 on, every element of the output is 7"));
  EXPECT_THAT(where(15, 5), HasSubstr("the output is 7 (0x40e00000) at 20 of 20 mismatches"));
  EXPECT_THAT(where(4, 0), HasSubstr("from position 56 on, every element of the output is 7"));
  EXPECT_THAT(where(1, 3), HasSubstr("the output is 7 (0x40e00000) at 4 of 4 mismatches"));
}

// If an error is r times its bound, some flip of a bit passes by chance with a probability of about
// 4 / r. For two such errors, the probability is the square. A flip is named if the probability is
// at most a tenth.
TEST(PatternLimits, AFlipThatChanceDoesNotExplain) {
  const auto names = [](std::size_t mismatches, double bounds) {
    PatternValues expected(8, 1), actual(8, 1);
    expected[7] = actual[7] = 1 + 0x1p-23;  // so that every bit is used
    for (std::size_t i = 0; i < mismatches; ++i) actual[2 * i] = 1.125;  // bit 20
    const Verdict v = judge(vector_of("float32", actual), vector_of("float32", expected),
                            tolerance(0.125 / bounds, 0));
    EXPECT_EQ(v.mismatches, static_cast<std::int64_t>(mismatches));
    return v.where.find("with bit 20 flipped back") != std::string::npos;
  };
  EXPECT_FALSE(names(1, 39.5));
  EXPECT_TRUE(names(1, 40.5));
  EXPECT_FALSE(names(2, 12.5));
  EXPECT_TRUE(names(2, 12.75));
}

// A mismatch of less than four times its bound shows nothing about a flip, and does not weaken
// another mismatch that does.
TEST(PatternLimits, AFlipInAMissOfFewBounds) {
  PatternValues expected(8, 1), actual(8, 1);
  expected[7] = actual[7] = 1 + 0x1p-23;
  actual[0] = 1.125;
  expected[3] = 0x1p-4, actual[3] = 1.125 * 0x1p-4;  // the error is 45 / 16 times the bound
  const Verdict v =
      judge(vector_of("float32", actual), vector_of("float32", expected), tolerance(0.125 / 45, 0));
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_THAT(v.where, HasSubstr("the output with bit 20 flipped back would pass"));
}

// Two exchanged rows of two elements give four mismatches. An exchange explains four mismatches by
// chance with a probability of (1/2 / 5)^4, so that it is named.
TEST(PatternLimits, FourMissesInTwoRows) {
  PatternValues expected;
  for (std::size_t i = 0; i < 200; ++i) expected.push_back(1 + static_cast<double>(i * 77 % 200));
  PatternValues actual = expected;
  std::swap(actual[6], actual[62]);
  std::swap(actual[7], actual[63]);
  const auto matrix = [](const PatternValues& values) {
    return Tensor::from_values(format_named("float32"), {100, 2}, values);
  };
  const Verdict v = judge(matrix(actual), matrix(expected), tolerance(0, 1e-6));
  EXPECT_THAT(v.where, HasSubstr("the output with rows 3 and 31 exchanged would pass"));
}

}  // namespace
}  // namespace assay
