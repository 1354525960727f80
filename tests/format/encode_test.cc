// Compares rounding to every format, in every mode and overflow policy, with MPFR: at all values,
// all midpoints and their neighbours, the edges of the range and random numbers.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::kOverflows;
using oracle::kRoundings;
using oracle::same;
using oracle::Spec;

class EncodeTest : public testing::TestWithParam<std::string> {
 protected:
  const Spec& row = oracle::spec(GetParam());
  const Format& format = format_named(GetParam());
  const bool scale = GetParam() == "float8_e8m0fnu";
  const oracle::Reference reference{GetParam()};

  // Checks a finite number with both signs.
  void check(double v) {
    if (!std::isfinite(v)) return;
    check_signed(v);
    if (!scale) check_signed(-v);
  }

  void check_signed(double v) {
    for (const Rounding mode : kRoundings) {
      const double unbounded = reference.unbounded(v, mode);
      for (const Overflow overflow : kOverflows) {
        const double expected = oracle::bounded(row, v, unbounded, mode, overflow);
        const std::uint64_t code = encode(format, v, mode, overflow);
        ASSERT_TRUE(same(oracle::value(row.name, code), expected))
            << std::hexfloat << v << " became " << oracle::value(row.name, code) << ", not "
            << expected << ": " << rounding_name(mode)
            << (overflow == Overflow::kSaturate ? ", saturating" : "");
        ASSERT_TRUE(is_valid_code(format, code)) << std::hexfloat << v;
        ASSERT_TRUE(same(round_to(format, v, mode, overflow), expected)) << std::hexfloat << v;
      }
    }
  }

  void check_around(double v) {
    for (const double x : {v, std::nextafter(v, 0.0), std::nextafter(v, kInfinity)}) {
      ASSERT_NO_FATAL_FAILURE(check(x));
    }
  }
};

INSTANTIATE_TEST_SUITE_P(All, EncodeTest, testing::ValuesIn(oracle::names()), oracle::name_of);

TEST_P(EncodeTest, ValuesAndMidpointsAndTheirNeighbours) {
  // Takes only the values around random codes.
  if (row.bits > 20) {
    Random random(2, 1);
    const std::uint64_t infinity =
        row.bits == 64 ? std::bit_cast<std::uint64_t>(kInfinity) : 0x7f800000u;
    for (int i = 0; i < 20000; ++i) {
      const std::uint64_t code = random.below(infinity - 1);
      const double low = oracle::value(row.name, code), high = oracle::value(row.name, code + 1);
      ASSERT_NO_FATAL_FAILURE(check_around(low));
      if (row.bits < 64) {
        ASSERT_NO_FATAL_FAILURE(check_around(low + (high - low) / 2));
      }
    }
    return;
  }
  const auto points = oracle::points(row);
  // A format of 20 bits has too many steps for 6 values each, so that only a part of them is tested
  // here. The next test draws others at random.
  const std::size_t step = row.bits > 16 ? 11 : 1;
  for (std::size_t i = 0; i + 1 < points.size(); i += step) {
    const double low = points[i].value, high = points[i + 1].value;
    ASSERT_NO_FATAL_FAILURE(check_around(low));
    ASSERT_NO_FATAL_FAILURE(check_around(low + (high - low) / 2));
  }
}

TEST_P(EncodeTest, RandomNumbersOfAllExponents) {
  Random random(2, 2);
  for (int i = 0; i < 20000; ++i) {
    const double v = std::abs(std::bit_cast<double>(random.next64()));
    ASSERT_NO_FATAL_FAILURE(check(v));
  }
}

TEST_P(EncodeTest, RandomNumbersInRange) {
  Random random(2, 3);
  const int low = std::ilogb(row.min_subnormal) - 2, high = std::ilogb(row.max) + 2;
  for (int i = 0; i < 20000; ++i) {
    const int exponent = low + static_cast<int>(random.below(static_cast<unsigned>(high - low)));
    // Draws few bits as often as many, so that ties and exact values occur.
    const auto bits = static_cast<int>(random.below(53));
    const double significand = std::ldexp(std::floor(std::ldexp(random.uniform(), bits)), -bits);
    const double v = std::ldexp(1 + significand, exponent);
    ASSERT_NO_FATAL_FAILURE(check(v));
  }
}

TEST_P(EncodeTest, EdgesOfTheRange) {
  const double gap = row.max - oracle::value(row.name, next_down(format, encode(format, row.max)));
  ASSERT_GT(gap, 0);
  for (const double v :
       {0.0, row.max, row.max + gap / 2, row.max + gap, row.max * 2, row.min_normal,
        row.min_subnormal, row.min_subnormal / 2, row.min_subnormal * 0.75, row.min_subnormal / 4,
        std::numeric_limits<double>::max(), std::numeric_limits<double>::min(),
        std::numeric_limits<double>::denorm_min(), 1.0, 0x1p100, 0x1p-100}) {
    ASSERT_NO_FATAL_FAILURE(check_around(v));
  }
}

TEST_P(EncodeTest, InfinitiesInEveryMode) {
  for (const Rounding mode : kRoundings) {
    for (const double sign : {1.0, -1.0}) {
      if (scale && sign < 0) continue;
      const double saturated =
          decode(format, encode(format, sign * kInfinity, mode, Overflow::kSaturate));
      EXPECT_EQ(saturated, sign * row.max) << rounding_name(mode);
      const double ieee = decode(format, encode(format, sign * kInfinity, mode));
      if (row.infinity) {
        EXPECT_EQ(ieee, sign * kInfinity) << rounding_name(mode);
      } else if (row.nan) {
        EXPECT_TRUE(std::isnan(ieee)) << rounding_name(mode);
      } else {
        EXPECT_EQ(ieee, sign * row.max) << rounding_name(mode);
      }
    }
  }
}

TEST_P(EncodeTest, NanIsCanonicalOrZeroOrRefused) {
  for (const Rounding mode : kRoundings) {
    if (row.nan) {
      EXPECT_EQ(encode(format, kNan, mode), row.nan_code);
      EXPECT_EQ(encode(format, -kNan, mode), row.negative_nan_code);
      const double payload = std::bit_cast<double>(std::uint64_t{0x7ff0000000000001});
      EXPECT_EQ(encode(format, payload, mode), row.nan_code);
    } else {
      try {
        encode(format, kNan, mode);
        ADD_FAILURE() << "a NaN was stored";
      } catch (const std::invalid_argument& error) {
        EXPECT_EQ(std::string(error.what()),
                  GetParam() + " has no NaN, so a NaN cannot be stored in it");
      }
    }
    // If overflow saturates, NaN becomes 0, as on the 910B with CTRL[48] = 0.
    EXPECT_EQ(encode(format, kNan, mode, Overflow::kSaturate), 0u);
    EXPECT_EQ(encode(format, -kNan, mode, Overflow::kSaturate), 0u);
  }
}

TEST_P(EncodeTest, NegativeZero) {
  for (const Overflow overflow : kOverflows) {
    const std::uint64_t code = encode(format, -0.0, Rounding::kNearestEven, overflow);
    if (scale) {
      EXPECT_EQ(decode(format, code), 0x1p-127);  // the format has no zero
    } else {
      EXPECT_TRUE(same(oracle::value(row.name, code), row.negative_zero ? -0.0 : 0.0));
    }
  }
}

double rounded(const char* name, double v, Rounding mode = Rounding::kNearestEven,
               Overflow overflow = Overflow::kIeee) {
  return round_to(format_named(name), v, mode, overflow);
}

TEST(OverflowTest, NearestTiesAtTheTopGoToEven) {
  EXPECT_EQ(rounded("float16", 65519.99), 65504);
  EXPECT_EQ(rounded("float16", 65520), kInfinity);
  EXPECT_EQ(rounded("float8_e5m2", 61439), 57344);
  EXPECT_EQ(rounded("float8_e5m2", 61440), kInfinity);
  // 464 is a tie. The code of 448 is even, and the next code is NaN.
  EXPECT_EQ(rounded("float8_e4m3fn", 464), 448);
  EXPECT_TRUE(std::isnan(rounded("float8_e4m3fn", 464.001)));
  EXPECT_EQ(rounded("float8_e4m3fn", 464.001, Rounding::kNearestEven, Overflow::kSaturate), 448);
  EXPECT_EQ(rounded("float8_e4m3fnuz", 247.9), 240);
  EXPECT_TRUE(std::isnan(rounded("float8_e4m3fnuz", 248)));
  EXPECT_TRUE(std::isnan(rounded("float8_e5m2fnuz", 61440)));
  EXPECT_EQ(rounded("float4_e2m1fn", 1000), 6);
  EXPECT_EQ(rounded("float4_e2m1fn", -kInfinity), -6);
  EXPECT_EQ(rounded("float6_e3m2fn", 28.1), 28);
  EXPECT_EQ(rounded("float6_e2m3fn", -9), -7.5);
  EXPECT_EQ(rounded("hifloat8", 40959), 32768);
  EXPECT_EQ(rounded("hifloat8", 40960, Rounding::kNearestAway), kInfinity);
}

TEST(OverflowTest, InwardRoundingStopsAtTheLargest) {
  for (const std::string& name : oracle::names()) {
    const Spec& row = oracle::spec(name);
    const Format& format = format_named(name);
    if (row.bits == 64) continue;  // no float64 is beyond its range
    for (const double v :
         {0x1p1000, 4 * row.max, 1.25 * row.max, std::nextafter(row.max, 0x1p999)}) {
      for (const Rounding mode : {Rounding::kTowardZero, Rounding::kDown, Rounding::kToOdd}) {
        EXPECT_EQ(round_to(format, v, mode), row.max) << name << " " << v << rounding_name(mode);
      }
      if (name == "float8_e8m0fnu") continue;
      for (const Rounding mode : {Rounding::kTowardZero, Rounding::kUp, Rounding::kToOdd}) {
        EXPECT_EQ(round_to(format, -v, mode), -row.max) << name << " " << v << rounding_name(mode);
      }
    }
  }
}

TEST(ScaleTest, NegativeNumbersHaveNoCode) {
  const Format& e8m0 = format_named("float8_e8m0fnu");
  for (const double v : {-1.0, -0x1p-149, -kInfinity}) {
    EXPECT_EQ(encode(e8m0, v), 0xffu) << v;
    EXPECT_EQ(encode(e8m0, v, Rounding::kNearestEven, Overflow::kSaturate), 0u) << v;
  }
}

// As in PyTorch and ml_dtypes, ties go to the larger power. The ties here lie between codes 127 and
// 128, and between 128 and 129.
TEST(ScaleTest, TiesGoToTheLargerPower) {
  const Format& e8m0 = format_named("float8_e8m0fnu");
  EXPECT_EQ(encode(e8m0, 1.5), 128u);
  EXPECT_EQ(encode(e8m0, 3.0), 129u);
  EXPECT_EQ(encode(e8m0, 0x1.8p-127), 1u);
  EXPECT_EQ(encode(e8m0, 0x1.7fffffp-127), 0u);
  EXPECT_EQ(encode(e8m0, 0x1.8p127), 255u);
  EXPECT_EQ(encode(e8m0, 0x1.7fffffp127), 254u);
  EXPECT_EQ(encode(e8m0, 0x1.8p127, Rounding::kNearestEven, Overflow::kSaturate), 254u);
  EXPECT_EQ(encode(e8m0, 0x1.800001p127), 255u);
}

class IntegerTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, IntegerTest,
                         testing::Values("int4", "uint4", "int8", "uint8", "int16", "uint16",
                                         "int32", "uint32"),
                         oracle::name_of);

TEST_P(IntegerTest, RoundsAndSaturates) {
  const Format& format = format_named(GetParam());
  const bool is_signed = GetParam().front() != 'u';
  const double high = std::exp2(format.bits - (is_signed ? 1 : 0)) - 1;
  const double low = is_signed ? -high - 1 : 0;
  std::vector<double> values = {0.0, -0.0, high, low, 0.25, 1e300, -1e300, kInfinity, -kInfinity};
  for (const double edge : {low, -1.0, 0.0, 1.0, 2.0, high}) {
    for (const double part : {-1.5, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0, 1.5}) {
      values.push_back(edge + part);
      values.push_back(std::nextafter(edge + part, 0.0));
      values.push_back(std::nextafter(edge + part, edge + 2 * part));
    }
  }
  values.push_back(std::numeric_limits<double>::denorm_min());
  values.push_back(-std::numeric_limits<double>::denorm_min());
  Random random(2, 4);
  for (int i = 0; i < 3000; ++i) values.push_back((random.uniform() - 0.5) * 2.2 * high);
  for (int i = 0; i < 3000; ++i) {
    values.push_back(std::floor((random.uniform() - 0.5) * 2.2 * high) + 0.5);
  }
  for (const double v : values) {
    for (const Rounding mode : kRoundings) {
      const double whole = std::isinf(v) ? v : oracle::mpfr_integer(v, mode);
      const double expected = std::clamp(whole, low, high) + 0.0;
      for (const Overflow overflow : kOverflows) {
        const std::uint64_t code = encode(format, v, mode, overflow);
        ASSERT_EQ(decode(format, code), expected) << v << " " << rounding_name(mode);
        ASSERT_TRUE(is_valid_code(format, code)) << v << " " << std::hex << code;
      }
    }
  }
}

TEST(Int64Test, SaturatesAtItsRange) {
  const Format& int64 = format_named("int64");
  constexpr auto kMax = std::uint64_t{0x7fffffffffffffff}, kMin = std::uint64_t{1} << 63;
  EXPECT_EQ(encode(int64, 0x1p63), kMax);
  EXPECT_EQ(encode(int64, kInfinity), kMax);
  EXPECT_EQ(encode(int64, -0x1p63), kMin);
  EXPECT_EQ(encode(int64, -1e300), kMin);
  EXPECT_EQ(encode(int64, 0x1.fffffffffffffp62), kMax - 1023);
  EXPECT_EQ(encode(int64, -1.0), ~std::uint64_t{0});
  EXPECT_EQ(encode(int64, 2.5), 2u);
  EXPECT_EQ(encode(int64, -2.5, Rounding::kDown), ~std::uint64_t{2});
}

// Every number beyond the range becomes the largest or the smallest code, whether it is up to twice
// as far as the range or further.
TEST(Int64Test, EveryIntegerSaturatesJustBeyondItsRange) {
  for (const Format& f : formats()) {
    if (f.is_float() || f.kind == Kind::kBool) continue;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - f.bits);
    const std::uint64_t largest = f.is_signed() ? all >> 1 : all;
    const std::uint64_t smallest = f.is_signed() ? largest + 1 : 0;
    const double limit = std::ldexp(1.0, f.is_signed() ? f.bits - 1 : f.bits);
    for (const double times : {1.0, 1 + 0x1p-52, 1.25, 1.5, 2 - 0x1p-52, 2.0, 3.0, 4.0, 0x1p64}) {
      for (const Rounding mode : kRoundings) {
        EXPECT_EQ(encode(f, times * limit, mode), largest) << f.name << " " << times;
        EXPECT_EQ(encode(f, -times * limit, mode), smallest) << f.name << " " << times;
      }
    }
  }
}

TEST(IntegerNanTest, IsRefused) {
  for (const char* name : {"int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32",
                           "int64", "uint64"}) {
    EXPECT_THROW(encode(format_named(name), kNan), std::invalid_argument) << name;
  }
}

TEST(BoolTest, IsWhetherTheNumberIsNotZero) {
  const Format& flag = format_named("bool");
  for (const double v : {1.0, -1.0, 0.25, 1e300, kInfinity, kNan}) EXPECT_EQ(encode(flag, v), 1u);
  EXPECT_EQ(encode(flag, 0.0), 0u);
  EXPECT_EQ(encode(flag, -0.0), 0u);
}

}  // namespace
}  // namespace assay
