// Tests the long accumulator against MPFR.
#include "assay/machine/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/format.h"
#include "mpfr_sum.h"

namespace assay {
namespace {

using oracle::MpfrSum;

// Returns a random finite float32 number of either sign, with any exponent within the limits.
double draw(Random& random, int low, int high) {
  const int exponent = low + static_cast<int>(random.below(static_cast<unsigned>(high - low + 1)));
  const auto v = static_cast<double>(static_cast<float>(1 + random.uniform() / 2));
  const double size = std::ldexp(v, exponent);
  return random.below(2) != 0 ? size : -size;
}

void expect_same(const ExactSum& sum, const MpfrSum& exact) {
  const double got = sum.to_odd(), expected = exact.to_odd();
  ASSERT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected))
      << std::hexfloat << got << " is not " << expected;
}

TEST(ExactSumTest, AnEmptySumIsPositiveZero) {
  const ExactSum sum;
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum.to_odd()), 0u);
}

TEST(ExactSumTest, RandomSumsOfAllWidths) {
  Random random(31, 1);
  for (const int spread : {0, 3, 20, 60, 120}) {
    for (const int terms : {1, 2, 3, 17, 300}) {
      for (int round = 0; round < 40; ++round) {
        ExactSum sum;
        MpfrSum exact;
        for (int i = 0; i < terms; ++i) {
          const double a = draw(random, -spread, spread), b = draw(random, -spread, spread);
          sum.add_product(a, b);
          exact.add_product(a, b);
        }
        ASSERT_NO_FATAL_FAILURE(expect_same(sum, exact)) << spread << " " << terms;
      }
    }
  }
}

TEST(ExactSumTest, EverySumOnTheWayIsRight) {
  Random random(31, 2);
  ExactSum sum;
  MpfrSum exact;
  for (int i = 0; i < 5000; ++i) {
    const double a = draw(random, -149, 127), b = draw(random, -149, 127);
    sum.add_product(a, b);
    exact.add_product(a, b);
    ASSERT_NO_FATAL_FAILURE(expect_same(sum, exact)) << i;
  }
}

TEST(ExactSumTest, CancellationLeavesWhatIsLeft) {
  Random random(31, 3);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<double, double>> terms;
    for (int i = 0; i < 20; ++i) {
      const double a = draw(random, -100, 100), b = draw(random, -100, 100);
      terms.push_back({a, b});
      terms.push_back({-a, b});
    }
    const double rest = round % 3 == 0 ? 0.0 : draw(random, -140, 140);
    terms.push_back({rest, 1.0});
    for (std::size_t i = terms.size() - 1; i > 0; --i)
      std::swap(terms[i], terms[random.below(i + 1)]);
    ExactSum sum;
    for (const auto& [a, b] : terms) sum.add_product(a, b);
    ASSERT_EQ(std::bit_cast<std::uint64_t>(sum.to_odd()), std::bit_cast<std::uint64_t>(rest));
  }
}

TEST(ExactSumTest, NearestOfEveryFloat64) {
  Random random(31, 4);
  const auto drawn = [&](int low, int high) {
    const int exponent =
        low + static_cast<int>(random.below(static_cast<unsigned>(high - low + 1)));
    return std::ldexp(2 * random.uniform() - 1, exponent);
  };
  const auto check = [](const std::vector<std::pair<double, double>>& terms) {
    ExactSum sum;
    MpfrSum exact(4400);
    for (const auto& [a, b] : terms) {
      sum.add_product(a, b);
      exact.add_product(a, b);
      const double got = sum.nearest(), expected = exact.nearest();
      ASSERT_TRUE(got == expected && (got == 0 || std::signbit(got) == std::signbit(expected)))
          << std::hexfloat << got << " is not " << expected << ", having added " << a << " * " << b;
    }
  };
  for (int round = 0; round < 3000; ++round) {
    const int at = static_cast<int>(random.below(2098)) - 1074;
    std::vector<std::pair<double, double>> terms;
    for (int i = 0; i < 6; ++i) {
      const int near = std::clamp(at + static_cast<int>(random.below(120)) - 60, -1074, 1024);
      terms.push_back({drawn(near, near), 1.0});
      terms.push_back({drawn(-1073, 1024), drawn(-1073, 1024)});
      if (i % 2 != 0) terms.push_back({-terms.back().first, terms.back().second});
    }
    ASSERT_NO_FATAL_FAILURE(check(terms));
  }
  const double smallest = 0x1p-1074, largest = std::numeric_limits<double>::max();
  for (const double sign : {1.0, -1.0}) {
    // Half of the smallest number is rounded to even, and more than half is rounded up. 1.5 of it
    // is a tie.
    ASSERT_NO_FATAL_FAILURE(check({{sign * smallest, 0.5},
                                   {sign * smallest, smallest},
                                   {sign * smallest, -smallest},
                                   {sign * smallest, 1.0},
                                   {sign * 0x1p-1022, 0.5},
                                   {sign * smallest, 0.25}}));
    ASSERT_NO_FATAL_FAILURE(check({{sign * largest, 1.0},
                                   {sign * 0x1p969, 0.5},
                                   {sign * 0x1p969, 1.0},  // half an ulp or more gives infinity
                                   {-sign * 0x1p969, 1.0},
                                   {sign * largest, largest},
                                   {sign * largest, -largest}}));
  }
}

TEST(ExactSumTest, TheEndsOfTheContract) {
  const double largest = 0x1.fffffep127, smallest = 0x1p-149;
  // The sizes of these products reach from 2^-560 to just below 2^300, beyond those of products of
  // float32 numbers.
  const std::vector<std::pair<double, double>> pairs = {
      {largest, largest},    {-largest, largest},   {smallest, smallest},
      {-smallest, smallest}, {largest, smallest},   {0x1p-280, 0x1p-280},
      {0x1p150, 0x1.fp149},  {-0x1p150, 0x1.fp149}, {0x1.23456p-250, -0x1.1p-300}};
  for (const auto& [a, b] : pairs) {
    ExactSum one;
    one.add_product(a, b);
    EXPECT_EQ(one.to_odd(), a * b) << std::hexfloat << a << " " << b;
    for (const auto& [x, y] : pairs) {
      ExactSum sum;
      MpfrSum exact;
      for (int i = 0; i < 3; ++i) {
        sum.add_product(a, b);
        sum.add_product(x, y);
        exact.add_product(a, b);
        exact.add_product(x, y);
      }
      ASSERT_NO_FATAL_FAILURE(expect_same(sum, exact)) << a << " " << b << " " << x << " " << y;
    }
  }
}

TEST(ExactSumTest, ZerosAddNothing) {
  ExactSum sum;
  sum.add(-0.0);
  sum.add_product(0.0, -5.0);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum.to_odd()), 0u);
  sum.add(-3);
  sum.add_product(-0.0, 0.0);
  EXPECT_EQ(sum.to_odd(), -3);
  sum.add(3);
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum.to_odd()), 0u);
}

TEST(ExactSumTest, CarriesRunThroughTheWholeRegister) {
  // 2^126 - 2^-149 is all ones. The next addition carries through all of them.
  for (const double sign : {1.0, -1.0}) {
    ExactSum sum;
    sum.add(sign * 0x1p126);
    sum.add(-sign * 0x1p-149);
    EXPECT_EQ(sum.to_odd(), sign * 0x1.fffffffffffffp125);
    sum.add(sign * 0x1p-149);
    EXPECT_EQ(sum.to_odd(), sign * 0x1p126);
    sum.add(sign * 0x1p-149);
    // The result is odd, because a smaller bit follows.
    EXPECT_EQ(sum.to_odd(), sign * 0x1.0000000000001p126);
    sum.add(-sign * 0x1p126);
    EXPECT_EQ(sum.to_odd(), sign * 0x1p-149);
  }
}

TEST(ExactSumTest, ManyAdditionsDoNotOverflowALimb) {
  ExactSum sum;
  MpfrSum exact;
  const double v = 0x1.fffffep-1;
  for (int i = 0; i < 200000; ++i) sum.add_product(v, v);
  exact.add_product(v * v, 200000);
  ASSERT_NO_FATAL_FAILURE(expect_same(sum, exact));
}

// Rounding to odd and then to float32 gives the same result as rounding once.
TEST(ExactSumTest, SecondRoundingIsInnocent) {
  Random random(31, 4);
  const Format& f32 = format_named("float32");
  for (int round = 0; round < 20000; ++round) {
    ExactSum sum;
    MpfrSum exact;
    // The sum is that of a float32 number, half its last place, and a tiny term. It is a tie, or
    // lies on either side of it.
    const int exponent = static_cast<int>(random.below(200)) - 120;
    const double base = std::ldexp(static_cast<double>(8388608 + random.below(8388608)), exponent);
    const double sign = random.below(2) != 0 ? 1 : -1;
    const double dust = std::ldexp(static_cast<double>(static_cast<int>(random.below(3)) - 1),
                                   exponent - static_cast<int>(random.below(100)) - 2);
    for (const double v : {sign * base, sign * std::ldexp(0.5, exponent), dust}) {
      sum.add(v);
      exact.add(v);
    }
    const double once = static_cast<double>(exact.nearest_float32());
    ASSERT_EQ(round_to(f32, sum.to_odd()), once) << std::hexfloat << base << " " << dust;
  }
}

}  // namespace
}  // namespace assay
