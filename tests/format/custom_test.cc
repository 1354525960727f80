// Compares float formats that are made at run time with their definition and MPFR.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::same;

struct Asked {
  const char* name;
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

// Formats with every kind of specials, many biases, one exponent bit, no mantissa bit, and one to
// eight bytes.
constexpr Asked kAsked[] = {
    {"float8_e4m3", 4, 3, 7, Specials::kInfNan},
    {"float8_e3m4", 3, 4, 3, Specials::kInfNan},
    {"float8_e4m3b11fnuz", 4, 3, 11, Specials::kFnuz},
    {"float9_e4m4fn", 4, 4, 7, Specials::kNanOnly},
    {"float4_e1m2fin", 1, 2, 0, Specials::kFinite},
    {"float3_e1m1fnuz", 1, 1, 1, Specials::kFnuz},
    {"float5_e4m0fin", 4, 0, 7, Specials::kFinite},
    {"float6_e5m0fn", 5, 0, 15, Specials::kNanOnly},
    {"float6_e5m0fnuz", 5, 0, 16, Specials::kFnuz},
    {"float12_e6m5b-3", 6, 5, -3, Specials::kInfNan},
    {"float13_e7m5b90fnuz", 7, 5, 90, Specials::kFnuz},
    {"float16_e8m7b130", 8, 7, 130, Specials::kInfNan},
    {"float16_e6m9fn", 6, 9, 31, Specials::kNanOnly},
    {"float16_e1m14fin", 1, 14, 0, Specials::kFinite},
    {"float14_e10m3", 10, 3, 511, Specials::kInfNan},
    {"float12_e8m3b1072", 8, 3, 1072, Specials::kInfNan},
    {"float11_e6m4b-960fin", 6, 4, -960, Specials::kFinite},
    {"float17_e8m8", 8, 8, 127, Specials::kInfNan},
    {"float24_e7m16fn", 7, 16, 63, Specials::kNanOnly},
    {"float43_e10m32fnuz", 10, 32, 512, Specials::kFnuz},
    {"float61_e8m52", 8, 52, 127, Specials::kInfNan},
    // These have as many exponent bits as bfloat16, but also numbers of 2^128 and more, which
    // float32 does not hold.
    {"float13_e8m4fin", 8, 4, 127, Specials::kFinite},
    {"float12_e8m3fn", 8, 3, 127, Specials::kNanOnly},
    // These are like float32, except for the bias, the specials, or the width of the exponent or
    // the mantissa.
    {"float32_e8m23b126", 8, 23, 126, Specials::kInfNan},
    {"float32_e8m23b128", 8, 23, 128, Specials::kInfNan},
    {"float32_e8m23fn", 8, 23, 127, Specials::kNanOnly},
    {"float32_e8m23b127fnuz", 8, 23, 127, Specials::kFnuz},
    {"float32_e8m23fin", 8, 23, 127, Specials::kFinite},
    {"float31_e7m23b127", 7, 23, 127, Specials::kInfNan},
    {"float31_e8m22", 8, 22, 127, Specials::kInfNan},
};

// These are like float16 or bfloat16, but with another bias, with other specials, or with the same
// bias and other fields.
constexpr Asked kLikeOthersOf16Bits[] = {
    {"float16_e5m10b14", 5, 10, 14, Specials::kInfNan},
    {"float16_e6m9b15", 6, 9, 15, Specials::kInfNan},
    {"float16_e8m7b126", 8, 7, 126, Specials::kInfNan},
    {"float16_e7m8b127", 7, 8, 127, Specials::kInfNan},
    {"float16_e5m10fn", 5, 10, 15, Specials::kNanOnly},
    {"float16_e8m7fin", 8, 7, 127, Specials::kFinite},
    {"float15_e5m9", 5, 9, 15, Specials::kInfNan},
    {"float15_e8m6", 8, 6, 127, Specials::kInfNan},
};

const Format& made(const Asked& a) {
  return custom_float(a.exponent_bits, a.mantissa_bits, a.bias, a.specials);
}

// The definition of a custom format, written apart from the code under test.
bool nan_of(const Asked& a, std::uint64_t code) {
  const std::uint64_t mantissa = code % (std::uint64_t{1} << a.mantissa_bits);
  const std::uint64_t size = code % (std::uint64_t{1} << (a.exponent_bits + a.mantissa_bits));
  const bool top = (size >> a.mantissa_bits) + 1 == std::uint64_t{1} << a.exponent_bits;
  if (a.specials == Specials::kInfNan) return top && mantissa != 0;
  if (a.specials == Specials::kNanOnly) {
    return top && mantissa + 1 == std::uint64_t{1} << a.mantissa_bits;
  }
  return a.specials == Specials::kFnuz && size == 0 && code != 0;
}
double value_of(const Asked& a, std::uint64_t code) {
  if (nan_of(a, code)) return kNan;
  const std::uint64_t field = (code >> a.mantissa_bits) % (std::uint64_t{1} << a.exponent_bits);
  if (a.specials == Specials::kInfNan && field + 1 == std::uint64_t{1} << a.exponent_bits) {
    return (code >> (a.exponent_bits + a.mantissa_bits)) != 0 ? -kInfinity : kInfinity;
  }
  return oracle::minifloat(code, a.exponent_bits, a.mantissa_bits, a.bias);
}

// Returns the row of the oracle that follows from the definition.
oracle::Spec spec_of(const Asked& a) {
  oracle::Spec row{};
  row.name = a.name;
  row.bits = 1 + a.exponent_bits + a.mantissa_bits;
  row.precision = a.mantissa_bits + 1;
  row.min_exponent = 1 - a.bias;
  row.min_normal = std::ldexp(1.0, 1 - a.bias);
  row.min_subnormal = std::ldexp(1.0, 1 - a.bias - a.mantissa_bits);
  row.infinity = a.specials == Specials::kInfNan;
  row.nan = a.specials != Specials::kFinite;
  row.negative_zero = a.specials != Specials::kFnuz;
  std::uint64_t code = (std::uint64_t{1} << (row.bits - 1)) - 1;
  // Goes down from the top, by whole binades if the format has infinity.
  while (!std::isfinite(value_of(a, code))) {
    code -= row.infinity ? std::uint64_t{1} << a.mantissa_bits : 1;
  }
  row.max = value_of(a, code);
  return row;
}

std::vector<std::uint64_t> codes_of(const Format& f) {
  std::vector<std::uint64_t> codes;
  if (f.bits <= 17) {
    for (std::uint64_t c = 0; c < std::uint64_t{1} << f.bits; ++c) codes.push_back(c);
    return codes;
  }
  Random random(31, 1);
  for (int i = 0; i < 20000; ++i) codes.push_back(random.below(std::uint64_t{1} << f.bits));
  return codes;
}

class CustomTest : public testing::TestWithParam<Asked> {
 protected:
  const Asked& asked = GetParam();
  const Format& format = made(asked);
  const oracle::Spec row = spec_of(asked);
};

INSTANTIATE_TEST_SUITE_P(All, CustomTest, testing::ValuesIn(kAsked),
                         [](const testing::TestParamInfo<Asked>& tested) {
                           std::string name = tested.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(CustomTest, HasItsNameAndConstants) {
  EXPECT_EQ(format.bits, row.bits);
  EXPECT_EQ(max_finite(format), row.max);
  EXPECT_EQ(min_normal(format), row.min_normal);
  EXPECT_EQ(min_subnormal(format), row.min_subnormal);
  EXPECT_EQ(unit_roundoff(format), std::ldexp(1.0, -row.precision));
  EXPECT_EQ(format.has_infinity(), row.infinity);
  EXPECT_GE(format.storage_bytes * 8, format.bits);
  EXPECT_TRUE(std::has_single_bit(static_cast<unsigned>(format.storage_bytes)));
  EXPECT_EQ(find_format(asked.name), nullptr);
  EXPECT_EQ(std::string(format.name), asked.name);
  // A second request for the same custom format gives the same row of the table.
  EXPECT_EQ(&made(asked), &format);
}

TEST_P(CustomTest, DecodesAndEncodesEveryCode) {
  for (const std::uint64_t code : codes_of(format)) {
    const double expected = value_of(asked, code);
    ASSERT_TRUE(same(decode(format, code), expected)) << std::hex << code;
    ASSERT_EQ(is_nan(format, code), std::isnan(expected)) << std::hex << code;
    ASSERT_EQ(is_inf(format, code), std::isinf(expected)) << std::hex << code;
    ASSERT_EQ(is_subnormal(format, code), expected != 0 && std::abs(expected) < row.min_normal)
        << std::hex << code;
    if (std::isnan(expected)) {
      ASSERT_TRUE(is_nan(format, encode(format, decode(format, code)))) << std::hex << code;
    } else {
      ASSERT_EQ(encode(format, expected), code) << expected;
    }
  }
}

TEST_P(CustomTest, RoundsAsMpfrDoes) {
  std::vector<double> values = {
      row.max, row.max * 1.5, row.min_normal, row.min_subnormal, std::numeric_limits<double>::max(),
      1.0};
  Random random(31, 2);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t code = random.below((std::uint64_t{1} << (row.bits - 1)) - 1);
    const double low = value_of(asked, code), high = value_of(asked, code + 1);
    if (!std::isfinite(low) || !std::isfinite(high)) continue;
    // If float64 does not hold the midpoint, it is rounded.
    values.push_back(low + (high - low) / 2);
    values.push_back(low + (high - low) * random.uniform());
  }
  for (const double v : {row.max + (row.max - value_of(asked, encode(format, row.max) - 1)) / 2}) {
    values.push_back(v);
  }
  for (const double at : values) {
    for (const double near : {at, std::nextafter(at, 0.0), std::nextafter(at, kInfinity)}) {
      if (!std::isfinite(near) || near == 0) continue;
      for (const double v : {near, -near}) {
        for (const Rounding mode : oracle::kRoundings) {
          // With one bit of precision, ties and rounding to odd look at the last bit of the code,
          // which MPFR does not know.
          if (row.precision == 1 && (mode == Rounding::kNearestEven || mode == Rounding::kToOdd)) {
            continue;
          }
          const double unbounded = oracle::mpfr_rounded(row, v, mode);
          for (const Overflow overflow : oracle::kOverflows) {
            const double expected = oracle::bounded(row, v, unbounded, mode, overflow);
            const double got = value_of(asked, encode(format, v, mode, overflow));
            ASSERT_TRUE(same(got, expected)) << std::hexfloat << v << " became " << got << ", not "
                                             << expected << ": " << rounding_name(mode);
          }
        }
      }
    }
  }
}

TEST_P(CustomTest, NeighboursDistancesAndUlp) {
  for (const std::uint64_t code : codes_of(format)) {
    const double v = value_of(asked, code);
    if (!std::isfinite(v) || v < 0 || std::signbit(v)) continue;
    const double above = value_of(asked, code + 1);
    const bool last = v == row.max;
    const std::uint64_t up = next_up(format, code);
    ASSERT_EQ(up, last && !row.infinity ? code : code + 1);
    if (!last) {
      ASSERT_EQ(next_down(format, up), code);
    }
    ASSERT_EQ(ulp_distance(format, code, up), last && !row.infinity ? 0u : 1u);
    ASSERT_EQ(ordinal(format, code), static_cast<std::int64_t>(code));
    if (!last) {
      ASSERT_EQ(ulp_of(format, v), above - v) << v;
    }
    if (v != 0) {
      const std::uint64_t minus = encode(format, -v);
      ASSERT_EQ(ordinal(format, minus), -static_cast<std::int64_t>(code));
      ASSERT_EQ(ulp_distance(format, minus, code), 2 * code);
    }
  }
}

TEST_P(CustomTest, ArraysAreAsTheScalar) {
  const auto width = static_cast<std::size_t>(format.storage_bytes);
  const auto codes = codes_of(format);
  std::vector<std::byte> bytes(codes.size() * width);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    store_element(format, bytes.data() + i * width, codes[i]);
  }
  std::vector<double> doubles(codes.size());
  std::vector<float> floats(codes.size());
  decode_array(format, bytes.data(), codes.size(), doubles.data());
  decode_array(format, bytes.data(), codes.size(), floats.data());
  Random random(31, 3);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double expected = decode(format, codes[i]);
    ASSERT_TRUE(same(doubles[i], expected)) << std::hex << codes[i];
    ASSERT_EQ(std::bit_cast<std::uint32_t>(floats[i]),
              std::bit_cast<std::uint32_t>(static_cast<float>(expected)))
        << std::hex << codes[i];
    // Moves two thirds of the values off the grid of the format, so that encoding must round them.
    const double nudge = 1 + (random.uniform() - 0.5) * std::ldexp(1.0, -asked.mantissa_bits);
    if (!std::isfinite(expected)) doubles[i] = row.nan ? expected : 1;
    if (i % 3 != 0) doubles[i] *= nudge;
    floats[i] = static_cast<float>(doubles[i]);
  }
  std::vector<std::byte> from_floats(bytes.size());
  for (const Overflow overflow : oracle::kOverflows) {
    encode_array(format, doubles.data(), doubles.size(), bytes.data(), overflow);
    encode_array(format, floats.data(), floats.size(), from_floats.data(), overflow);
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_EQ(load_element(format, bytes.data() + i * width),
                encode(format, doubles[i], Rounding::kNearestEven, overflow))
          << std::hexfloat << doubles[i];
      ASSERT_EQ(load_element(format, from_floats.data() + i * width),
                encode(format, static_cast<double>(floats[i]), Rounding::kNearestEven, overflow))
          << std::hexfloat << floats[i];
    }
  }
  std::vector<double> rounded = doubles;
  round_array(format, rounded.data(), rounded.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const bool left = !row.nan && !std::isfinite(doubles[i]);
    ASSERT_TRUE(same(rounded[i], left ? doubles[i] : round_to(format, doubles[i]))) << doubles[i];
  }
}

TEST(CustomRowTest, TheTablesFormatsAreFound) {
  const struct {
    const char* name;
    Asked asked;
  } rows[] = {{"float64", {"", 11, 52, 1023, Specials::kInfNan}},
              {"float32", {"", 8, 23, 127, Specials::kInfNan}},
              {"float16", {"", 5, 10, 15, Specials::kInfNan}},
              {"bfloat16", {"", 8, 7, 127, Specials::kInfNan}},
              {"float8_e4m3fn", {"", 4, 3, 7, Specials::kNanOnly}},
              {"float8_e5m2fnuz", {"", 5, 2, 16, Specials::kFnuz}},
              {"float_e5m6", {"", 5, 6, 15, Specials::kInfNan}},
              {"float4_e2m1fn", {"", 2, 1, 1, Specials::kFinite}}};
  for (const auto& row : rows) EXPECT_EQ(&made(row.asked), &format_named(row.name)) << row.name;
  // tfloat32 lies in the high bits of a float32. The same fields, made at run time, give another
  // format.
  EXPECT_EQ(custom_float(8, 10, 127, Specials::kInfNan).name, "float19_e8m10");
}

TEST(CustomRowTest, RowsStayWhereTheyAre) {
  const Format& first = custom_float(4, 5, 7, Specials::kInfNan);
  const std::string name(first.name);
  for (int bias = 0; bias < 300; ++bias) custom_float(4, 5, bias, Specials::kFinite);
  EXPECT_EQ(&custom_float(4, 5, 7, Specials::kInfNan), &first);
  EXPECT_EQ(first.name, name);
}

// One mantissa bit is enough for infinity and NaN.
TEST(CustomRowTest, OneMantissaBitTellsNanFromInfinity) {
  const Format& f = custom_float(4, 1, 7, Specials::kInfNan);
  EXPECT_EQ(f.name, "float6_e4m1");
  EXPECT_TRUE(is_inf(f, 0b011110));
  EXPECT_TRUE(is_nan(f, 0b011111));
  EXPECT_EQ(max_finite(f), 1.5 * 128);
}

TEST(CustomErrorTest, NamesWhatIsWrong) {
  const struct {
    Asked asked;
    const char* because;
  } wrong[] = {
      {{"", 0, 3, 7, Specials::kInfNan}, "exponent bits must be 1 to 11"},
      {{"", 12, 3, 7, Specials::kInfNan}, "exponent bits must be 1 to 11"},
      {{"", 4, -1, 7, Specials::kInfNan}, "mantissa bits must be 0 to 52"},
      {{"", 4, 53, 7, Specials::kInfNan}, "mantissa bits must be 0 to 52"},
      {{"", 4, 0, 7, Specials::kInfNan}, "infinity and NaN together need a mantissa bit"},
      {{"", 1, 3, 0, Specials::kInfNan},
       "its largest value must be normal: give it more bits or fewer specials"},
      {{"", 1, 0, 0, Specials::kNanOnly},
       "its largest value must be normal: give it more bits or fewer specials"},
      {{"", 4, 3, 1073, Specials::kInfNan}, "its smallest value lies below float64's, 2^-1074"},
      {{"", 4, 3, 2147483647, Specials::kInfNan},
       "its smallest value lies below float64's, 2^-1074"},
      {{"", 11, 3, 1023, Specials::kFinite}, "its largest value lies beyond float64's, 2^1024"},
      {{"", 4, 3, -2147483647, Specials::kInfNan},
       "its largest value lies beyond float64's, 2^1024"},
      {{"", 8, 0, 127, Specials::kScale},
       "its specials must be kInfNan, kNanOnly, kFnuz or kFinite"},
      {{"", 4, 3, 7, Specials::kTapered},
       "its specials must be kInfNan, kNanOnly, kFnuz or kFinite"},
  };
  for (const auto& w : wrong) {
    try {
      made(w.asked);
      ADD_FAILURE() << w.because;
    } catch (const std::invalid_argument& error) {
      EXPECT_EQ(std::string(error.what()),
                "custom float of " + std::to_string(w.asked.exponent_bits) + " exponent bits, " +
                    std::to_string(w.asked.mantissa_bits) + " mantissa bits, bias " +
                    std::to_string(w.asked.bias) + ": " + w.because);
    }
  }
  // These biases are the largest and the smallest that are allowed.
  EXPECT_EQ(min_subnormal(custom_float(4, 3, 1072, Specials::kInfNan)), 0x1p-1074);
  EXPECT_EQ(max_finite(custom_float(4, 3, -1009, Specials::kInfNan)), 0x1.ep1023);
}

TEST(CustomTextTest, PrintsBeyondFloat32) {
  const Format& wide = custom_float(11, 4, 1023, Specials::kInfNan);
  EXPECT_EQ(element_text(wide, encode(wide, 0x1p500)), "3.273390607896142e+150 (0x5f30)");
  // 2^128 is the first power of two that float32 does not hold. It still holds 2^127.
  const Format& just_beyond = custom_float(5, 0, -97, Specials::kFinite);
  EXPECT_EQ(max_finite(just_beyond), 0x1p128);
  EXPECT_EQ(element_text(just_beyond, 0x1f), "3.402823669209385e+38 (0x1f)");
  const Format& just_within = custom_float(5, 0, -96, Specials::kFinite);
  EXPECT_EQ(element_text(just_within, 0x1f), "1.7014118e+38 (0x1f)");
}

// One bit of precision: ties go to the even code.
TEST(CustomTieTest, WithoutMantissaBits) {
  const Format& f = custom_float(5, 0, 15, Specials::kNanOnly);
  EXPECT_EQ(encode(f, 1.5), 16u);  // codes 15 and 16
  EXPECT_EQ(encode(f, 3.0), 16u);  // codes 16 and 17
  // This is the middle between zero and the smallest number, 2^-14, which has code 1.
  EXPECT_EQ(encode(f, 0x1p-15), 0u);
  EXPECT_EQ(encode(f, 2.5, Rounding::kToOdd), 17u);
  EXPECT_EQ(encode(f, 1.5, Rounding::kToOdd), 15u);
}

// Arrays of a format that is nearly float16 or bfloat16 are read as what they are.
TEST(CustomArrays, ThatAreNearlyOthersOf16Bits) {
  for (const Asked& asked : kLikeOthersOf16Bits) {
    const Format& f = made(asked);
    EXPECT_EQ(f.name, asked.name);
    std::vector<std::uint16_t> codes;
    for (std::uint32_t code = 0; code < 1u << f.bits; code += 7) {
      codes.push_back(static_cast<std::uint16_t>(code));
    }
    std::vector<double> values(codes.size());
    decode_array(f, reinterpret_cast<const std::byte*>(codes.data()), codes.size(), values.data());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      ASSERT_TRUE(same(values[i], decode(f, codes[i]))) << asked.name << " " << codes[i];
    }
  }
}

}  // namespace
}  // namespace assay
