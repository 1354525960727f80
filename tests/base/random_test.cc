#include "assay/base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace assay {
namespace {

using Words = std::array<std::uint32_t, 4>;

// The known answers that Random123 ships (tests/kat_vectors, philox4x32 with 10 rounds).
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint64_t ones = ~std::uint64_t{0};
  EXPECT_EQ(philox(ones, ones, ones), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0
  EXPECT_EQ(philox(0x299f31d0a4093822u, 0x0370734413198a2eu, 0x85a308d3243f6a88u),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomTest, IsAddressedBySeedAndStream) {
  Random a(1, 2), b(1, 2), other_seed(2, 2), other_stream(1, 3);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t draw = a.next64();
    // A block of four words gives two draws.
    const Words words = philox(1, 2, static_cast<std::uint64_t>(i / 2));
    const std::size_t low = i % 2 == 0 ? 0 : 2;
    ASSERT_EQ(draw, (std::uint64_t{words[low + 1]} << 32) | words[low]) << i;
    ASSERT_EQ(draw, b.next64());
    ASSERT_NE(draw, other_seed.next64());
    ASSERT_NE(draw, other_stream.next64());
  }
}

TEST(RandomTest, BelowStaysBelowAndReachesAll) {
  Random random(3, 1);
  for (const std::uint64_t n : {1u, 2u, 3u, 7u, 10u}) {
    std::vector<int> seen(n);
    for (int i = 0; i < 4000; ++i) {
      const std::uint64_t draw = random.below(n);
      ASSERT_LT(draw, n);
      ++seen[draw];
    }
    const double expected = 4000.0 / static_cast<double>(n);
    for (const int count : seen) EXPECT_NEAR(count, expected, 6 * std::sqrt(expected) + 1);
  }
}

// Without rejection every third value would come up twice as often.
TEST(RandomTest, BelowHasNoBias) {
  Random random(3, 4);
  const std::uint64_t n = std::uint64_t{3} << 62;
  int rests[3] = {};
  for (int i = 0; i < 6000; ++i) {
    const std::uint64_t draw = random.below(n);
    ASSERT_LT(draw, n);
    ++rests[draw % 3];
  }
  for (const int count : rests) EXPECT_NEAR(count, 2000, 250);
}

TEST(RandomTest, UniformIsInTheUnitInterval) {
  Random random(3, 2);
  double sum = 0, low = 1, high = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    ASSERT_EQ(std::ldexp(u, 53), std::floor(std::ldexp(u, 53)));
    sum += u;
    low = std::min(low, u);
    high = std::max(high, u);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);
  EXPECT_LT(low, 0.001);
  EXPECT_GT(high, 0.999);
}

TEST(RandomTest, NormalHasItsMoments) {
  Random random(3, 3);
  constexpr int kDraws = 50000;
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / kDraws, 0, 0.025);
  EXPECT_NEAR(squares / kDraws, 1, 0.035);
  EXPECT_NEAR(fourth / kDraws, 3, 0.25);
}

TEST(RandomTest, NormalsAreIndependentOfTheirNeighbours) {
  Random random(3, 5);
  constexpr int kDraws = 20000;
  double before = random.normal(), products = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double x = random.normal();
    products += before * x;
    squares += before * before * x * x;
    before = x;
  }
  EXPECT_NEAR(products / kDraws, 0, 0.04);
  EXPECT_NEAR(squares / kDraws, 1, 0.1);
}

}  // namespace
}  // namespace assay
