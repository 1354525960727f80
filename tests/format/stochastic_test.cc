// Tests stochastic rounding: of all values of the random bits, exactly the discarded fraction
// rounds away from zero. Also tests flushing of subnormals.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same;

Encoding stochastic(std::uint64_t random, int bits) {
  return {.rounding = Rounding::kStochastic, .random = random, .random_bits = bits};
}

// Returns floor(2^bits (|v| - low) / (high - low)), by MPFR with more digits than float64 can need.
double fraction(double v, double low, double high, int bits) {
  oracle::Mpfr rest(2300), gap(2300);
  mpfr_set_d(rest, std::abs(v), MPFR_RNDN);
  mpfr_sub_d(rest, rest, low, MPFR_RNDN);
  mpfr_set_d(gap, high, MPFR_RNDN);
  mpfr_sub_d(gap, gap, low, MPFR_RNDN);
  mpfr_mul_2ui(rest, rest, static_cast<unsigned long>(bits), MPFR_RNDN);
  mpfr_div(rest, rest, gap, MPFR_RNDD);
  mpfr_floor(rest, rest);
  return mpfr_get_d(rest, MPFR_RNDN);
}

class StochasticTest : public testing::TestWithParam<std::string> {
 protected:
  const oracle::Spec& row = oracle::spec(GetParam());
  const Format& format = format_named(GetParam());
  const std::vector<oracle::Point> table = oracle::points(row);
};

INSTANTIATE_TEST_SUITE_P(UpTo20Bits, StochasticTest, testing::ValuesIn(oracle::names(20)),
                         oracle::name_of);

TEST_P(StochasticTest, RoundsUpAsOftenAsTheDiscardedFractionSays) {
  Random random(41, 1);
  for (int trial = 0; trial < 400; ++trial) {
    const std::size_t at = random.below(table.size() - 1);
    const double low = table[at].value, high = table[at + 1].value;
    double v = low + (high - low) * random.uniform();
    if (trial % 4 == 0) v = low + (high - low) * std::ldexp(1.0, -static_cast<int>(trial % 40));
    if (trial % 7 == 0) v = std::nextafter(high, 0.0);
    if (trial % 11 == 0) v = std::nextafter(low, kInfinity);
    if (v <= low || v >= high) continue;
    const bool minus = format.is_signed() && trial % 2 == 1;
    const double signed_v = minus ? -v : v;
    for (const int bits : {1, 3, 8}) {
      int away = 0;
      for (std::uint64_t r = 0; r < std::uint64_t{1} << bits; ++r) {
        const double got = std::abs(round_to(format, signed_v, stochastic(r, bits)));
        ASSERT_TRUE(got == low || got == high) << std::hexfloat << v << " became " << got;
        away += got == high ? 1 : 0;
      }
      ASSERT_EQ(away, fraction(v, low, high, bits)) << std::hexfloat << v << ", " << bits;
    }
  }
}

TEST_P(StochasticTest, ThresholdIsExactForManyBits) {
  Random random(41, 2);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t at = random.below(table.size() - 1);
    const double low = table[at].value, high = table[at + 1].value;
    const double v = low + (high - low) * random.uniform();
    if (v <= low || v >= high) continue;
    for (const int bits : {24, 48, 53, 64}) {
      // The d largest random numbers round away from zero, where d is the discarded fraction times
      // 2^bits, rounded down. So the smallest of them is 2^bits - d. If d is 0, no number does.
      const double d = fraction(v, low, high, bits);
      if (d == 0) continue;
      const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
      const std::uint64_t first = all - static_cast<std::uint64_t>(d) + 1;
      EXPECT_EQ(round_to(format, v, stochastic(first, bits)), high) << std::hexfloat << v;
      EXPECT_EQ(round_to(format, v, stochastic(first - 1, bits)), low) << std::hexfloat << v;
    }
  }
}

TEST_P(StochasticTest, RepresentableNumbersStay) {
  for (const oracle::Point& p : table) {
    for (const std::uint64_t r : {std::uint64_t{0}, ~std::uint64_t{0}}) {
      ASSERT_EQ(encode(format, p.value, stochastic(r, 64)), p.code) << p.value;
      ASSERT_EQ(encode(format, p.value, stochastic(r, 1)), p.code) << p.value;
    }
  }
}

TEST_P(StochasticTest, BeyondTheLargestTheNextValueIsAnOverflow) {
  // The next value of hifloat8 would be 1.5 * 2^15, but its code is that of infinity.
  const double gap = GetParam() == "hifloat8" ? row.max / 2 : ulp_of(format, row.max);
  const double v = row.max + gap / 4;
  Encoding how = stochastic(0, 2);
  EXPECT_EQ(round_to(format, v, how), row.max);
  how.random = 3;
  EXPECT_TRUE(same(round_to(format, v, how), row.infinity ? kInfinity : row.nan ? kNan : row.max));
  how.overflow = Overflow::kSaturate;
  EXPECT_EQ(round_to(format, v, how), row.max);
}

TEST(StochasticErrorTest, NeedsRandomBits) {
  const Format& f = format_named("float16");
  EXPECT_THROW(encode(f, 1.0, Rounding::kStochastic), std::invalid_argument);
  EXPECT_THROW(encode(f, 1.0, stochastic(1, 65)), std::invalid_argument);
  try {
    encode(f, 1.0, stochastic(1, -1));
    ADD_FAILURE() << "no error";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()),
              "stochastic rounding takes 1 to 64 random bits, not -1: set Encoding::random and "
              "random_bits");
  }
}

TEST(StochasticBitsTest, HighBitsAreIgnored) {
  const Format& f = format_named("bfloat16");
  for (std::uint64_t r = 0; r < 16; ++r) {
    EXPECT_EQ(encode(f, 1.0 / 3, stochastic(r, 4)),
              encode(f, 1.0 / 3, stochastic(r | 0xabcdef0, 4)));
  }
}

TEST(StochasticBitsTest, Integers) {
  const Format& f = format_named("int8");
  int up = 0;
  for (std::uint64_t r = 0; r < 8; ++r) {
    const double got = round_to(f, -2.375, stochastic(r, 3));
    ASSERT_TRUE(got == -2 || got == -3) << got;
    up += got == -3 ? 1 : 0;
  }
  EXPECT_EQ(up, 3);
}

// Tiny numbers lose all their bits beyond the random ones, and are never rounded away from zero by
// accident.
TEST(StochasticBitsTest, FarBelowTheSmallest) {
  const Format& f = format_named("float16");
  for (const double v : {0x1p-89, 0x1p-300, 5e-324}) {
    EXPECT_EQ(encode(f, v, stochastic(~std::uint64_t{0}, 64)), 0u) << v;
  }
  EXPECT_EQ(encode(f, 0x1p-88, stochastic(~std::uint64_t{0}, 64)), 1u);  // 2^-64 of the smallest
}

class FlushTest : public StochasticTest {};

INSTANTIATE_TEST_SUITE_P(UpTo20Bits, FlushTest, testing::ValuesIn(oracle::names(20)),
                         oracle::name_of);

TEST_P(FlushTest, SubnormalCodesDecodeToZero) {
  for (std::uint64_t i = 0; i < std::uint64_t{1} << row.bits; ++i) {
    const std::uint64_t code = i << row.padding;
    const double value = oracle::value(row.name, code);
    double expected = value;
    if (value != 0 && std::abs(value) < row.min_normal) {
      expected = row.negative_zero ? std::copysign(0.0, value) : 0.0;
    }
    ASSERT_TRUE(same(decode(format, code, Subnormals::kFlush), expected)) << std::hex << code;
  }
}

TEST_P(FlushTest, WhatRoundsToASubnormalIsZero) {
  Random random(41, 3);
  for (int trial = 0; trial < 3000; ++trial) {
    double v = row.min_normal * 2 * random.uniform();
    if (trial == 0) v = std::nextafter(row.min_normal, 0.0);
    if (trial % 2 == 1 && format.is_signed()) v = -v;
    for (const Rounding mode : oracle::kRoundings) {
      const double kept = round_to(format, v, mode);
      const double got = round_to(format, v, {.rounding = mode, .subnormals = Subnormals::kFlush});
      const bool tiny = kept != 0 && std::abs(kept) < row.min_normal;
      const double zero = row.negative_zero ? std::copysign(0.0, v) : 0.0;
      ASSERT_TRUE(same(got, tiny ? zero : kept)) << std::hexfloat << v << " became " << got;
    }
  }
}

TEST(FlushLandmarkTest, Float32AndFloat64) {
  const Encoding flush{.subnormals = Subnormals::kFlush};
  const Format& f32 = format_named("float32");
  EXPECT_EQ(encode(f32, 0x1p-127, flush), 0u);
  EXPECT_EQ(encode(f32, -0x1p-127, flush), 0x80000000u);
  EXPECT_EQ(encode(f32, 0x1p-126, flush), 0x00800000u);
  EXPECT_EQ(encode(f32, 0x1.ffffffp-127, flush), 0x00800000u);  // rounds up to the smallest normal
  EXPECT_TRUE(same(round_to(format_named("float64"), -5e-324, flush), -0.0));
  EXPECT_TRUE(same(decode(f32, 0x80000001, Subnormals::kFlush), -0.0));
}

}  // namespace
}  // namespace assay
