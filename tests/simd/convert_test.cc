#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/simd/convert_kernel.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class SimdConvertTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, SimdConvertTest, testing::ValuesIn(available_targets()),
                         target_of);

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// Returns the value of a float16 code by its definition.
double half_value(std::uint16_t code) {
  const int exponent = (code >> 10) & 31, mantissa = code & 1023;
  double size = std::ldexp(1024 + mantissa, exponent - 25);
  if (exponent == 0) size = std::ldexp(mantissa, -24);
  if (exponent == 31) size = mantissa == 0 ? kInfinity : std::nan("");
  return (code & 0x8000) != 0 ? -size : size;
}

double bfloat_value(std::uint16_t code) {
  return static_cast<double>(std::bit_cast<float>(std::uint32_t{code} << 16));
}

TEST_P(SimdConvertTest, EverySixteenBitFloat) {
  std::vector<std::uint16_t> codes(65536);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint16_t>(i);
  std::vector<double> half(codes.size()), bfloat(codes.size());
  to_float64(Storage::kF16, codes.data(), codes.size(), half.data(), nullptr);
  to_float64(Storage::kBf16, codes.data(), codes.size(), bfloat.data(), nullptr);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    ASSERT_TRUE(same(bfloat[i], bfloat_value(codes[i]))) << std::hex << i;
    ASSERT_TRUE(same(half[i], half_value(codes[i]))) << std::hex << i << " " << half[i];
  }
}

// Tests every length up to 40, because the last elements, which fill no vector, take another way
// than the first.
TEST_P(SimdConvertTest, SpecialsInTheLastElements) {
  const std::uint16_t codes[] = {0x0001, 0x8000, 0x7c00, 0xfc00, 0x7e00, 0x03ff, 0xc000};
  for (std::size_t n = 1; n <= 40; ++n) {
    std::vector<std::uint16_t> from(n);
    for (std::size_t i = 0; i < n; ++i) from[i] = codes[(n - i) % 7];
    std::vector<double> half(n + 1, 7), bfloat(n + 1, 7);
    to_float64(Storage::kF16, from.data(), n, half.data(), nullptr);
    to_float64(Storage::kBf16, from.data(), n, bfloat.data(), nullptr);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same(bfloat[i], bfloat_value(from[i]))) << n << " " << i;
      ASSERT_TRUE(same(half[i], half_value(from[i]))) << n << " " << i << " " << half[i];
    }
    ASSERT_EQ(half[n], 7);
    ASSERT_EQ(bfloat[n], 7);
  }
}

template <typename T>
void check_storage(Storage storage, std::uint64_t stream) {
  Random random(11, stream);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<T> from(n);
    for (T& v : from) {
      const std::uint64_t draw = random.next64();
      std::memcpy(&v, &draw, sizeof v);
    }
    std::vector<double> to(n + 1, 7);
    to_float64(storage, from.data(), n, to.data(), nullptr);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_TRUE(same(to[i], static_cast<double>(from[i]))) << n << " " << i;
    }
    ASSERT_EQ(to[n], 7);
  }
}

TEST_P(SimdConvertTest, CppTypes) {
  check_storage<double>(Storage::kF64, 1);
  check_storage<float>(Storage::kF32, 2);
  check_storage<std::int8_t>(Storage::kI8, 3);
  check_storage<std::uint8_t>(Storage::kU8, 4);
  check_storage<std::int16_t>(Storage::kI16, 5);
  check_storage<std::int32_t>(Storage::kI32, 6);
  check_storage<std::int64_t>(Storage::kI64, 7);
}

TEST_P(SimdConvertTest, Tables) {
  std::vector<double> table(65536);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<double>(i * i) - 5;
  Random random(11, 8);
  std::vector<std::uint8_t> bytes(99);
  std::vector<std::uint16_t> words(99);
  for (std::size_t i = 0; i < 99; ++i) {
    bytes[i] = static_cast<std::uint8_t>(random.next64());
    words[i] = static_cast<std::uint16_t>(random.next64());
  }
  std::vector<double> from_bytes(99), from_words(99);
  to_float64(Storage::kTable8, bytes.data(), 99, from_bytes.data(), table.data());
  to_float64(Storage::kTable16, words.data(), 99, from_words.data(), table.data());
  for (std::size_t i = 0; i < 99; ++i) {
    ASSERT_EQ(from_bytes[i], table[bytes[i]]);
    ASSERT_EQ(from_words[i], table[words[i]]);
  }
}

// The processor's own rounding to float32 is the peer of a RoundSpec that describes float32.
TEST_P(SimdConvertTest, RoundsToFloat32AsTheProcessorDoes) {
  const RoundSpec spec{29, 0x1p-126, 0x1p-149, 0x1.fffffep127};
  Random random(11, 9);
  for (std::size_t n = 0; n <= 300; n += n < 20 ? 1 : 41) {
    for (int round = 0; round < 30; ++round) {
      std::vector<double> values(n);
      for (double& v : values) {
        const std::uint64_t draw = random.next64();
        const int exponent = static_cast<int>(random.below(290)) - 155;
        v = std::ldexp(1 + random.uniform(), exponent);
        if (draw % 8 == 0) v = static_cast<double>(static_cast<float>(v));
        if (draw % 8 == 1) v = std::bit_cast<double>(draw);
        if (draw % 64 == 2) v = kInfinity;
        if (draw % 8 == 3) v = std::ldexp(std::floor(v / 0x1p-149) + 0.5, -149);
        if ((draw >> 63) != 0) v = -v;
      }
      std::vector<double> rounded = values;
      bool overflows = false;
      round_float64(spec, rounded.data(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const auto expected = static_cast<double>(static_cast<float>(values[i]));
        overflows |= std::isfinite(values[i]) && std::isinf(expected);
        ASSERT_TRUE(same(rounded[i], expected)) << std::hexfloat << values[i] << " " << rounded[i];
      }
      rounded = values;
      EXPECT_EQ(round_float64(spec, rounded.data(), n), overflows);
    }
  }
}

TEST_P(SimdConvertTest, SaysWhetherAnythingOverflowed) {
  const RoundSpec half{42, 0x1p-14, 0x1p-24, 65504};
  for (std::size_t n = 1; n <= 20; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<double> values(n, 1.0);
      values[at] = -65519.999;
      EXPECT_FALSE(round_float64(half, values.data(), n));
      EXPECT_EQ(values[at], -65504);
      values[at] = -65520;
      EXPECT_TRUE(round_float64(half, values.data(), n));
      EXPECT_EQ(values[at], -kInfinity);
      // An infinity that was there before is not an overflow.
      EXPECT_FALSE(round_float64(half, values.data(), n));
    }
  }
}

// float16 and an "fnuz" format of 8 bits as the kernels see them.
constexpr SmallFloat kHalf{16, 10, 15, 0x7bff, 0x7c00, -1, 0x7c00, 0x7e00, true, true};
constexpr SmallFloat kE4m3fnuz{8, 3, 8, 0x7f, 0x7f, 0x80, 0x80, 0x80, false, true};

double e4m3fnuz_value(int code) {
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -10) : std::ldexp(8 + mantissa, exponent - 11);
  return code == 0x80 ? std::nan("") : code > 0x80 ? -size : size;
}

TEST_P(SimdConvertTest, EverySmallFloatAndBack) {
  std::vector<std::uint16_t> halves(65536);
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::vector<float> wide(halves.size());
  std::vector<std::uint16_t> half_codes(halves.size());
  std::vector<std::uint8_t> byte_codes(bytes.size());
  small_to_float32(kHalf, halves.data(), halves.size(), wide.data());
  EXPECT_TRUE(float32_to_small(kHalf, wide.data(), wide.size(), half_codes.data()));
  for (std::size_t i = 0; i < halves.size(); ++i) {
    ASSERT_TRUE(same(static_cast<double>(wide[i]), half_value(halves[i]))) << std::hex << i;
    const bool nan = std::isnan(wide[i]);
    ASSERT_EQ(half_codes[i], nan ? (halves[i] & 0x8000u) | 0x7e00u : halves[i]) << std::hex << i;
  }
  small_to_float32(kE4m3fnuz, bytes.data(), bytes.size(), wide.data());
  EXPECT_TRUE(float32_to_small(kE4m3fnuz, wide.data(), bytes.size(), byte_codes.data()));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto value = static_cast<double>(wide[i]);
    ASSERT_TRUE(same(value, e4m3fnuz_value(static_cast<int>(i)))) << std::hex << i << " " << value;
    ASSERT_EQ(byte_codes[i], bytes[i]) << std::hex << i;
  }
}

TEST_P(SimdConvertTest, SaysWhetherAnythingIsNan) {
  for (std::size_t n = 1; n <= 40; ++n) {
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> values(n, std::numeric_limits<float>::infinity());
      std::vector<std::uint16_t> codes(n + 1, 7);
      EXPECT_FALSE(float32_to_small(kHalf, values.data(), n, codes.data()));
      values[at] = -std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(float32_to_small(kHalf, values.data(), n, codes.data()));
      EXPECT_EQ(codes[at], 0xfe00);
      EXPECT_EQ(codes[n], 7);
    }
  }
}

// Uses the processor's rounding toward zero. Rounding to odd is the same, with the last bit set if
// the result is inexact.
TEST_P(SimdConvertTest, RoundsToOddFloat32) {
  Random random(11, 10);
  std::vector<double> values = {0.0,          -0.0,           kInfinity,      -kInfinity,
                                std::nan(""), 5e-324,         1e308,          0x1p-149,
                                0x1.8p-149,   0x1.fffffep127, 0x1.ffffffp127, 0x1p128};
  for (int i = 0; i < 4001; ++i) {
    double v = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(300)) - 160);
    if (i % 3 == 0) v = static_cast<double>(static_cast<float>(v));
    if (i % 9 == 0) v = std::nextafter(v, 0.0);
    values.push_back(i % 2 == 0 ? v : -v);
  }
  std::vector<float> odd(values.size());
  round_to_odd_float32(values.data(), values.size(), odd.data());
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::fesetround(FE_TOWARDZERO);
    volatile double from = values[i];
    volatile float cut = static_cast<float>(from);
    std::fesetround(FE_TONEAREST);
    if (std::isnan(values[i])) {
      ASSERT_TRUE(std::isnan(odd[i]));
      continue;
    }
    auto expected = std::bit_cast<std::uint32_t>(static_cast<float>(cut));
    if (static_cast<double>(cut) != values[i]) expected |= 1;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(odd[i]), expected) << std::hexfloat << values[i];
  }
}

}  // namespace
}  // namespace assay::simd
