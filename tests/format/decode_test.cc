// Compares every code of every format of at most 16 bits with its definition, and encodes it again.
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
#include "hostile_environment.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same;
using oracle::Spec;

// Returns all codes of formats of at most 20 bits. For wider formats, returns edges and random
// ones.
std::vector<std::uint64_t> codes_of(const Spec& row) {
  std::vector<std::uint64_t> codes;
  if (row.bits <= 20) {
    for (std::uint64_t i = 0; i < std::uint64_t{1} << row.bits; ++i) {
      codes.push_back(i << row.padding);
    }
    return codes;
  }
  Random random(1, 1);
  const std::uint64_t all = row.bits == 64 ? ~std::uint64_t{0} : 0xffffffffu;
  const std::uint64_t infinity = std::bit_cast<std::uint64_t>(kInfinity);
  const std::uint64_t edge = row.bits == 64 ? infinity : 0x7f800000u;
  for (const std::uint64_t base : {std::uint64_t{0}, edge, edge / 2}) {
    for (std::uint64_t i = 0; i < 4; ++i) {
      for (const std::uint64_t code : {base + i, base - i}) {
        codes.push_back(code & all);
        codes.push_back((code ^ (std::uint64_t{1} << (row.bits - 1))) & all);
      }
    }
  }
  for (int i = 0; i < 200000; ++i) codes.push_back(random.next64() & all);
  return codes;
}

class DecodeTest : public testing::TestWithParam<std::string> {
 protected:
  const Spec& row = oracle::spec(GetParam());
  const Format& format = format_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(All, DecodeTest, testing::ValuesIn(oracle::names()), oracle::name_of);

TEST_P(DecodeTest, EveryCodeHasItsDefinedValue) {
  for (const std::uint64_t code : codes_of(row)) {
    const double expected = oracle::value(row.name, code);
    ASSERT_TRUE(same(decode(format, code), expected))
        << std::hex << "code 0x" << code << ": " << decode(format, code) << " is not " << expected;
  }
}

TEST_P(DecodeTest, NanIsQuietAndKeepsItsSign) {
  for (const std::uint64_t code : codes_of(row)) {
    const double value = decode(format, code);
    if (!std::isnan(value)) continue;
    const auto bits = std::bit_cast<std::uint64_t>(value);
    EXPECT_NE(bits & (std::uint64_t{1} << 51), 0u) << std::hex << code;
    // Formats with a negative zero have a NaN of each sign.
    if (row.negative_zero) {
      ASSERT_EQ(std::signbit(value), (code >> (row.padding + row.bits - 1)) == 1)
          << std::hex << code;
    }
  }
}

TEST_P(DecodeTest, EncodingGivesTheCodeBack) {
  for (const std::uint64_t code : codes_of(row)) {
    const double value = oracle::value(row.name, code);
    if (std::isnan(value)) {
      const std::uint64_t nan =
          std::signbit(decode(format, code)) ? row.negative_nan_code : row.nan_code;
      ASSERT_EQ(encode(format, decode(format, code)), nan) << std::hex << code;
      continue;
    }
    for (const Rounding mode : oracle::kRoundings) {
      ASSERT_EQ(encode(format, value, mode), code)
          << std::hex << "value " << value << ", " << rounding_name(mode);
    }
    ASSERT_TRUE(same(round_to(format, value), value)) << value;
  }
}

TEST_P(DecodeTest, SaturatingKeepsEveryFiniteCode) {
  for (const std::uint64_t code : codes_of(row)) {
    const double value = oracle::value(row.name, code);
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(encode(format, value, Rounding::kNearestEven, Overflow::kSaturate), code);
  }
}

TEST_P(DecodeTest, CodesAreClassified) {
  int infinities = 0;
  std::int64_t nans = 0;
  for (const std::uint64_t code : codes_of(row)) {
    const double value = oracle::value(row.name, code);
    ASSERT_EQ(is_nan(format, code), std::isnan(value)) << std::hex << code;
    ASSERT_EQ(is_inf(format, code), std::isinf(value)) << std::hex << code;
    const bool subnormal = value != 0 && std::abs(value) < row.min_normal;
    ASSERT_EQ(is_subnormal(format, code), subnormal) << std::hex << code;
    ASSERT_TRUE(is_valid_code(format, code)) << std::hex << code;
    infinities += std::isinf(value) ? 1 : 0;
    nans += std::isnan(value) ? 1 : 0;
  }
  if (row.bits <= 20) {
    EXPECT_EQ(infinities, row.infinity ? 2 : 0);
  }
  EXPECT_EQ(nans > 0, row.nan);
}

TEST_P(DecodeTest, BitsBeyondTheFormatAreNoCode) {
  if (row.padding > 0) {
    for (int bit = 0; bit < row.padding; ++bit) {
      EXPECT_FALSE(is_valid_code(format, 0x3f800000u | (std::uint64_t{1} << bit))) << bit;
    }
  }
  for (int bit = row.bits + row.padding; bit < row.storage_bits; ++bit) {
    EXPECT_FALSE(is_valid_code(format, std::uint64_t{1} << bit)) << bit;
  }
}

TEST(Hifloat8Test, LandmarksOfItsDefinition) {
  const Format& hif8 = format_named("hifloat8");
  struct {
    std::uint64_t code;
    double value;
  } const landmarks[] = {
      {0x00, 0},         {0x01, 0x1p-22},  // the smallest
      {0x07, 0x1p-16},                     // the largest of the subnormal-like values
      {0x08, 1},                           // 0001 000
      {0x0f, 1.875},                       // 0001 111
      {0x10, 2},                           // 001 0 000
      {0x17, 3.75},                        // 001 0 111
      {0x18, 0.5},                         // 001 1 000
      {0x20, 4},                           // 01 0 0 000
      {0x2f, 15},                          // 01 0 1 111
      {0x30, 0.25},                        // 01 1 0 000
      {0x3f, 0.234375},                    // 01 1 1 111: 2^-3 * 1.875
      {0x40, 16},                          // 10 0 00 00
      {0x5f, 0x1.cp-7},                    // 10 1 11 11
      {0x60, 256},                         // 11 0 000 0
      {0x6e, 32768},                       // 11 0 111 0: the largest
      {0x70, 0x1p-8},                      // 11 1 000 0
      {0x7e, 0x1p-15},                     // 11 1 111 0, the smallest with a mantissa
      {0x7f, 0x1.8p-15},                   // 11 1 111 1
      {0xee, -32768},                      // signs
      {0x81, -0x1p-22},
  };
  for (const auto& [code, value] : landmarks) {
    EXPECT_EQ(decode(hif8, code), value) << std::hex << code;
  }
  EXPECT_TRUE(is_nan(hif8, 0x80));
  EXPECT_EQ(decode(hif8, 0x6f), kInfinity);
  EXPECT_EQ(decode(hif8, 0xef), -kInfinity);
}

TEST(ScaleTest, EveryCodeIsAPowerOfTwo) {
  const Format& e8m0 = format_named("float8_e8m0fnu");
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(decode(e8m0, static_cast<std::uint64_t>(code)), std::ldexp(1.0, code - 127));
  }
  EXPECT_TRUE(is_nan(e8m0, 255));
}

TEST(IntegerCodesTest, DecodeAsCppDoes) {
  for (int code = 0; code < 65536; ++code) {
    const auto bits = static_cast<std::uint64_t>(code);
    const auto word = static_cast<std::int16_t>(code);
    ASSERT_EQ(decode(format_named("int16"), bits), static_cast<double>(word));
    ASSERT_EQ(encode(format_named("int16"), static_cast<double>(word)), bits);
    if (code >= 256) continue;
    const auto byte = static_cast<std::int8_t>(code);
    ASSERT_EQ(decode(format_named("int8"), bits), static_cast<double>(byte));
    ASSERT_EQ(encode(format_named("int8"), static_cast<double>(byte)), bits);
    ASSERT_EQ(decode(format_named("uint8"), bits), static_cast<double>(code));
    ASSERT_EQ(encode(format_named("uint8"), static_cast<double>(code)), bits);
    ASSERT_EQ(decode(format_named("bool"), bits), code != 0 ? 1.0 : 0.0);
  }
  Random random(1, 2);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t draw = random.next64();
    const auto narrow = static_cast<std::int32_t>(draw >> 32);
    const std::uint64_t bits = draw >> 32;
    ASSERT_EQ(decode(format_named("int32"), bits), static_cast<double>(narrow));
    ASSERT_EQ(encode(format_named("int32"), static_cast<double>(narrow)), bits);
    const auto wide = static_cast<std::int64_t>(draw);
    ASSERT_EQ(decode(format_named("int64"), draw), static_cast<double>(wide));
    const auto exact = wide >> 11;  // fits a float64
    ASSERT_EQ(encode(format_named("int64"), static_cast<double>(exact)),
              static_cast<std::uint64_t>(exact));
  }
}

// float64's subnormal numbers are decoded as they are stored, even if the program's environment
// flushes subnormal numbers.
TEST(DecodeTest, SubnormalsAreNotFlushed) {
  const Format& f = format_named("float64");
  for (const std::uint64_t code :
       {std::uint64_t{1}, std::uint64_t{0x000fffffffffffff}, std::uint64_t{0x0008000000000001}}) {
    for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63}) {
      double value;
      {
        const HostileEnvironment hostile;
        value = decode(f, code | sign);
      }
      EXPECT_EQ(std::bit_cast<std::uint64_t>(value), code | sign);
    }
  }
}

// float64 is decoded without arithmetic, which assumes its bias. No other bias is possible for a
// format this wide.
TEST(DecodeTest, Float64HasTheOneBias) {
  for (const int bias : {1021, 1022, 1024, 1025, 15}) {
    for (const Specials specials :
         {Specials::kInfNan, Specials::kNanOnly, Specials::kFnuz, Specials::kFinite}) {
      EXPECT_THROW(custom_float(11, 52, bias, specials), std::invalid_argument) << bias;
    }
  }
}

}  // namespace
}  // namespace assay
