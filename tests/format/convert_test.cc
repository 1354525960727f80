// Tests that conversions of whole arrays give what decode() and encode() give element by element,
// on every SIMD target.
#include "assay/format/convert.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/format.h"
#include "assay/simd/targets.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same;

class ConvertTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};

INSTANTIATE_TEST_SUITE_P(OnTarget, ConvertTest, testing::ValuesIn(simd::available_targets()),
                         oracle::name_of);

// Returns all codes of formats of at most 16 bits. For wider formats, returns those around zero and
// infinity, and random ones.
std::vector<std::uint64_t> some_codes(const Format& f) {
  std::vector<std::uint64_t> codes;
  if (f.kind == Kind::kBool) return {0, 1, 1, 0, 1, 1, 1, 0, 0};
  if (f.bits <= 16) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits; ++code) codes.push_back(code);
    return codes;
  }
  Random random(5, 1);
  const std::uint64_t all = f.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << f.bits) - 1;
  const std::uint64_t sign = std::uint64_t{1} << (f.bits - 1);
  const std::uint64_t infinity = f.is_float() ? encode(f, kInfinity) >> f.padding : sign - 1;
  for (std::uint64_t i = 0; i < 5; ++i) {
    for (const std::uint64_t code : {i, infinity - i, infinity + i}) {
      codes.push_back(code & all);
      codes.push_back((code ^ sign) & all);
    }
  }
  for (int i = 0; i < 5000; ++i) codes.push_back(random.next64() & all);
  for (std::uint64_t& code : codes) code <<= f.padding;
  return codes;
}

std::vector<std::byte> stored(const Format& f, const std::vector<std::uint64_t>& codes) {
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  std::vector<std::byte> bytes(codes.size() * width);
  for (std::size_t i = 0; i < codes.size(); ++i)
    store_element(f, bytes.data() + i * width, codes[i]);
  return bytes;
}

TEST_P(ConvertTest, DecodesEveryCode) {
  for (const Format& f : formats()) {
    const auto codes = some_codes(f);
    const auto bytes = stored(f, codes);
    std::vector<double> values(codes.size(), -99);
    decode_array(f, bytes.data(), codes.size(), values.data());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const double expected = decode(f, codes[i]);
      ASSERT_TRUE(same(values[i], expected) && std::signbit(values[i]) == std::signbit(expected))
          << f.name << std::hex << " 0x" << codes[i] << ": " << values[i] << ", not " << expected;
    }
  }
}

// Returns numbers that are hard for a format: its values, midpoints, their neighbours, edges and
// specials.
std::vector<double> hard_values(const Format& f) {
  std::vector<double> values = {0.0,
                                -0.0,
                                max_finite(f),
                                std::nextafter(max_finite(f), kInfinity),
                                max_finite(f) + ulp_of(f, max_finite(f)) / 2,
                                std::nextafter(max_finite(f) + ulp_of(f, max_finite(f)) / 2, 0.0),
                                2 * max_finite(f),
                                1e308,
                                min_subnormal(f) / 2,
                                std::nextafter(min_subnormal(f) / 2, 1.0),
                                min_subnormal(f) * 0.75,
                                min_subnormal(f) * 1.5,
                                min_normal(f),
                                std::nextafter(min_normal(f), 0.0),
                                min_normal(f) - min_subnormal(f) / 2,
                                min_normal(f) - min_subnormal(f) / 4,
                                5e-324,
                                kInfinity,
                                std::numeric_limits<double>::max()};
  Random random(5, 2);
  const auto codes = some_codes(f);
  const std::size_t step = codes.size() / 3000 + 1;
  for (std::size_t i = 0; i < codes.size(); i += step) {
    const double v = decode(f, codes[i]);
    if (!std::isfinite(v)) continue;
    const double middle = std::abs(v) + ulp_of(f, v) / 2;
    for (const double x : {v, middle, std::nextafter(middle, 0.0), std::nextafter(middle, 1e308)}) {
      values.push_back(x);
    }
    values.push_back(std::bit_cast<double>(random.next64()));
  }
  const std::size_t size = values.size();
  for (std::size_t i = 0; i < size; ++i) values.push_back(-values[i]);
  const bool takes_nan = !f.is_float() || f.specials == Specials::kFinite;
  for (double& v : values) {
    if (std::isnan(v)) v = takes_nan && f.kind != Kind::kBool ? 1.0 : kNan;
  }
  return values;
}

TEST_P(ConvertTest, EncodesAsTheScalarDoes) {
  for (const Format& f : formats()) {
    const auto values = hard_values(f);
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    std::vector<std::byte> bytes(values.size() * width);
    for (const Overflow overflow : oracle::kOverflows) {
      encode_array(f, values.data(), values.size(), bytes.data(), overflow);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(load_element(f, bytes.data() + i * width),
                  encode(f, values[i], Rounding::kNearestEven, overflow))
            << f.name << std::hexfloat << " " << values[i];
      }
    }
  }
}

// Returns the formats of the table, and custom ones whose smallest numbers are float32's smallest,
// or smaller than its normal numbers.
std::vector<const Format*> table_and_custom() {
  std::vector<const Format*> all;
  for (const Format& f : formats()) all.push_back(&f);
  for (const Specials specials :
       {Specials::kInfNan, Specials::kNanOnly, Specials::kFnuz, Specials::kFinite}) {
    all.push_back(&custom_float(4, 3, 127, specials));
    all.push_back(&custom_float(4, 3, 126, specials));
    all.push_back(&custom_float(5, 10, 127, specials));
    all.push_back(&custom_float(6, 9, 125, specials));
    all.push_back(&custom_float(7, 8, 127, specials));
    all.push_back(&custom_float(7, 8, 100, specials));
    all.push_back(&custom_float(8, 7, 127, specials));
  }
  return all;
}

// Compares the bits of the values. A NaN must be the canonical one.
TEST_P(ConvertTest, Float32OfEveryCode) {
  for (const Format* format : table_and_custom()) {
    const Format& f = *format;
    const auto codes = some_codes(f);
    const auto bytes = stored(f, codes);
    std::vector<float> values(codes.size(), -99);
    decode_array(f, bytes.data(), codes.size(), values.data());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      const auto expected = static_cast<float>(decode(f, codes[i]));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected))
          << f.name << std::hex << " 0x" << codes[i] << ": " << values[i] << ", not " << expected;
    }
  }
}

TEST_P(ConvertTest, EncodesFloat32AsTheScalarDoes) {
  for (const Format* format : table_and_custom()) {
    const Format& f = *format;
    std::vector<float> values;
    for (const double v : hard_values(f)) {
      const auto near = static_cast<float>(v);
      for (const float x : {near, std::nextafterf(near, 0.0f), std::nextafterf(near, 1e38f)}) {
        values.push_back(x);
      }
    }
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    std::vector<std::byte> bytes(values.size() * width);
    for (const Overflow overflow : oracle::kOverflows) {
      encode_array(f, values.data(), values.size(), bytes.data(), overflow);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto v = static_cast<double>(values[i]);
        ASSERT_EQ(load_element(f, bytes.data() + i * width),
                  encode(f, v, Rounding::kNearestEven, overflow))
            << f.name << std::hexfloat << " " << v;
      }
    }
  }
}

TEST_P(ConvertTest, RoundsAsTheScalarDoes) {
  for (const Format& f : formats()) {
    const auto values = hard_values(f);
    std::vector<double> rounded = values;
    round_array(f, rounded.data(), rounded.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      // A format that holds only finite numbers leaves infinity and NaN as they are.
      const bool left = f.specials == Specials::kFinite && !std::isfinite(values[i]);
      ASSERT_TRUE(same(rounded[i], left ? values[i] : round_to(f, values[i])))
          << f.name << std::hexfloat << " " << values[i] << " became " << rounded[i];
    }
  }
}

// Returns the formats with infinity that have only values that float32 holds.
std::vector<const Format*> formats_rounded_in_float32() {
  std::vector<const Format*> some;
  for (const Format& f : formats()) {
    if (f.has_infinity() && max_finite(f) < 0x1p128 && min_subnormal(f) >= 0x1p-149 &&
        f.mantissa_bits() <= 23) {
      some.push_back(&f);
    }
  }
  return some;
}

TEST_P(ConvertTest, RoundsToFloat32AsTheScalarDoes) {
  Random random(5, 30);
  std::size_t formats_seen = 0;
  for (const Format* const f : formats_rounded_in_float32()) {
    ++formats_seen;
    std::vector<double> values = hard_values(*f);
    // Adds ties and their neighbours in float64 and float32.
    for (int i = 0; i < 3000; ++i) {
      const double x =
          round_to(*f, std::ldexp(random.normal(), static_cast<int>(random.below(30)) - 20));
      const double tie = x + ulp_of(*f, x) / 2;
      for (const double v : {x, tie, std::nextafter(tie, 0.0), std::nextafter(tie, 1e300)}) {
        values.push_back(v);
        values.push_back(static_cast<double>(std::nextafter(static_cast<float>(v), -1e30F)));
      }
    }
    std::vector<float> rounded(values.size() + 3, -99);
    round_array(*f, values.data(), values.size(), rounded.data());
    const std::vector<float> floats(values.begin(), values.end());
    std::vector<float> of_floats(values.size() + 3, -99), in_place = floats;
    round_array(*f, floats.data(), floats.size(), of_floats.data());
    round_array(*f, in_place.data(), in_place.size(), in_place.data());
    for (std::size_t i = 0; i < values.size(); ++i) {
      ASSERT_TRUE(same(static_cast<double>(rounded[i]), round_to(*f, values[i])))
          << f->name << std::hexfloat << " " << values[i] << " became " << rounded[i];
      const double of = round_to(*f, static_cast<double>(floats[i]));
      ASSERT_TRUE(same(static_cast<double>(of_floats[i]), of))
          << f->name << std::hexfloat << " " << floats[i] << " became " << of_floats[i];
      ASSERT_TRUE(same(static_cast<double>(in_place[i]), of)) << f->name;
    }
    for (std::size_t i = values.size(); i < rounded.size(); ++i) {
      ASSERT_EQ(rounded[i], -99);
      ASSERT_EQ(of_floats[i], -99);
    }
  }
  EXPECT_GE(formats_seen, 5u);
}

TEST_P(ConvertTest, EveryLengthLeavesTheRestAlone) {
  Random random(5, 3);
  for (const Format& f : formats()) {
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    for (std::size_t n = 0; n <= 37; ++n) {
      std::vector<double> values(n);
      for (double& v : values) v = std::floor(random.uniform() * 8);
      std::vector<std::byte> bytes((n + 4) * width, std::byte{0x5a});
      encode_array(f, values.data(), n, bytes.data());
      for (std::size_t i = n * width; i < bytes.size(); ++i) {
        ASSERT_EQ(bytes[i], std::byte{0x5a}) << f.name << " " << n;
      }
      std::vector<float> floats(values.begin(), values.end());
      std::vector<std::byte> from_floats((n + 4) * width, std::byte{0x5a});
      encode_array(f, floats.data(), n, from_floats.data());
      ASSERT_EQ(from_floats, bytes) << f.name << " " << n;
      floats.assign(n + 4, -99);
      decode_array(f, bytes.data(), n, floats.data());
      for (std::size_t i = 0; i < n + 4; ++i) {
        const double expected = i < n ? round_to(f, values[i]) : -99.0;
        ASSERT_EQ(static_cast<double>(floats[i]), expected) << f.name << " " << n;
      }
      std::vector<double> back(n + 4, -99);
      decode_array(f, bytes.data(), n, back.data());
      std::vector<double> rounded = values;
      rounded.resize(n + 4, 1 / 3.0);
      round_array(f, rounded.data(), n);
      for (std::size_t i = 0; i < n + 4; ++i) {
        ASSERT_EQ(back[i], i < n ? round_to(f, values[i]) : -99.0) << f.name << " " << n;
        ASSERT_EQ(rounded[i], i < n ? round_to(f, values[i]) : 1 / 3.0) << f.name << " " << n;
      }
    }
  }
}

// Tests arrays of more than one block of the encoder, with the special values at its seams.
TEST_P(ConvertTest, LongArrays) {
  const Format& f = format_named("float16");
  std::vector<double> values(5000);
  Random random(5, 4);
  for (double& v : values) v = 100 * random.normal();
  for (const std::size_t i : {1022u, 1023u, 1024u, 1025u, 2047u, 2048u, 4999u}) {
    values[i] = i % 2 == 0 ? kNan : -kInfinity;
  }
  std::vector<std::uint16_t> codes(values.size());
  encode_array(f, values.data(), values.size(), reinterpret_cast<std::byte*>(codes.data()));
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(codes[i], encode(f, values[i])) << i;
}

// Arrays larger than the caches are written directly to memory, from the first whole vector on.
TEST_P(ConvertTest, ArraysLargerThanCaches) {
  constexpr std::size_t kBytes = std::size_t{32} << 20, kStep = 4096;
  for (const char* name : {"bfloat16", "float8_e4m3fn"}) {
    const Format& f = format_named(name);
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    std::vector<std::byte> codes(kBytes / 4 * width + 64);
    Random random(5, 6);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      codes[i] = i < 8 * kStep ? std::byte(random.next64() & 0xff) : codes[i - 8 * kStep];
    }
    for (const std::size_t shift : {0u, 1u, 3u}) {
      const std::size_t n = kBytes / 4 + shift;
      const std::byte* const from = codes.data() + shift * width;
      std::vector<float> values(n + shift + 1, -99), part(kStep);
      decode_array(f, from, n, values.data() + shift);
      for (std::size_t i = 0; i < n; i += kStep) {
        const std::size_t count = std::min(kStep, n - i);
        decode_array(f, from + i * width, count, part.data());
        ASSERT_EQ(std::memcmp(part.data(), values.data() + shift + i, count * sizeof(float)), 0)
            << name << " " << i;
      }
      EXPECT_EQ(values.back(), -99);
      EXPECT_EQ(shift > 0 ? values[shift - 1] : -99, -99);
    }
  }
  std::vector<float> values(kBytes + 8);
  Random random(5, 7);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i < 8 * kStep ? static_cast<float>(random.normal()) : values[i - 8 * kStep];
  }
  for (const char* name : {"bfloat16", "float8_e4m3fn"}) {
    const Format& f = format_named(name);
    const auto width = static_cast<std::size_t>(f.storage_bytes);
    for (const std::size_t shift : {0u, 1u, 3u}) {
      const std::size_t n = kBytes / width + shift;
      std::vector<std::byte> codes((n + shift + 1) * width, std::byte{0x5a}), part(kStep * width);
      std::byte* const to = codes.data() + shift * width;
      encode_array(f, values.data(), n, to);
      for (std::size_t i = 0; i < n; i += kStep) {
        const std::size_t count = std::min(kStep, n - i);
        encode_array(f, values.data() + i, count, part.data());
        ASSERT_EQ(std::memcmp(part.data(), to + i * width, count * width), 0) << name << " " << i;
      }
      EXPECT_EQ(codes.back(), std::byte{0x5a});
      EXPECT_EQ(shift > 0 ? to[-1] : std::byte{0x5a}, std::byte{0x5a});
    }
  }
}

TEST(ConvertNanTest, FormatsWithoutNanRefuseIt) {
  const double values[] = {1.0, 2.0, kNan};
  std::byte bytes[24];
  for (const char* name : {"int8", "int32", "float4_e2m1fn", "float6_e2m3fn"}) {
    EXPECT_THROW(encode_array(format_named(name), values, 3, bytes), std::invalid_argument) << name;
  }
}

TEST(ConvertNanTest, RoundingLeavesWhatAFormatCannotHold) {
  for (const char* name : {"int8", "int32", "bool", "float4_e2m1fn", "float6_e3m2fn"}) {
    double values[] = {kNan, 1.0, kInfinity, -kInfinity};
    round_array(format_named(name), values, 4);
    EXPECT_TRUE(std::isnan(values[0])) << name;
    EXPECT_EQ(values[1], 1.0) << name;
    EXPECT_EQ(values[2], kInfinity) << name;
    EXPECT_EQ(values[3], -kInfinity) << name;
  }
}

TEST(ConvertEmptyTest, NothingIsReadOrWritten) {
  for (const Format& f : formats()) {
    decode_array(f, nullptr, 0, static_cast<double*>(nullptr));
    decode_array(f, nullptr, 0, static_cast<float*>(nullptr));
    encode_array(f, static_cast<const double*>(nullptr), 0, nullptr);
    encode_array(f, static_cast<const float*>(nullptr), 0, nullptr);
    round_array(f, nullptr, 0);
  }
}

TEST(ConvertNanTest, Float64NanIsCanonical) {
  const double values[] = {std::bit_cast<double>(std::uint64_t{0x7ff0000000000123}), 1.0,
                           std::bit_cast<double>(std::uint64_t{0xfff8000000000777})};
  std::uint64_t codes[3];
  encode_array(format_named("float64"), values, 3, reinterpret_cast<std::byte*>(codes));
  EXPECT_EQ(codes[0], 0x7ff8000000000000u);
  EXPECT_EQ(codes[1], 0x3ff0000000000000u);
  EXPECT_EQ(codes[2], 0xfff8000000000000u);
}

// The low bits of a padded format are not part of its value. This holds for arrays, too.
TEST(ConvertPaddingTest, LowBitsAreIgnored) {
  for (const char* name : {"tfloat32", "hfloat32"}) {
    const Format& f = format_named(name);
    const std::uint32_t code = 0x3f800fff;
    double value = 0;
    decode_array(f, reinterpret_cast<const std::byte*>(&code), 1, &value);
    EXPECT_EQ(value, decode(f, code)) << name;
  }
}

TEST(ElementTest, LoadsAndStoresUnaligned) {
  for (const Format& f : formats()) {
    std::byte bytes[24] = {};
    const std::uint64_t bits = 0xf1e2d3c4b5a69788u >> (64 - 8 * f.storage_bytes);
    store_element(f, bytes + 3, bits);
    EXPECT_EQ(load_element(f, bytes + 3), bits) << f.name;
    EXPECT_EQ(bytes[2], std::byte{0});
    EXPECT_EQ(bytes[3 + static_cast<std::size_t>(f.storage_bytes)], std::byte{0}) << f.name;
  }
}

}  // namespace
}  // namespace assay
