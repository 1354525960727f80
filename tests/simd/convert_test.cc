#include "assay/simd/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class SimdConvertTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, SimdConvertTest, testing::ValuesIn(available_targets()),
                         target_of);

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

// float16 by its definition.
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

// Odd lengths, whose last elements take another way than the first.
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

// The processor's own rounding to float32 is the peer of a spec that describes float32.
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
      EXPECT_FALSE(round_float64(half, values.data(), n));  // infinity is no overflow
    }
  }
}

}  // namespace
}  // namespace assay::simd
