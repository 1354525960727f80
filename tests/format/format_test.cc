// Compares the table of formats with the constants of the specifications, and tests names and
// texts.
#include "assay/format/format.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "assay/format/rounding.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

class TableTest : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(All, TableTest, testing::ValuesIn(oracle::names()), oracle::name_of);

TEST_P(TableTest, HasTheSpecifiedConstants) {
  const oracle::Spec& row = oracle::spec(GetParam());
  const Format& f = format_named(GetParam());
  EXPECT_EQ(max_finite(f), row.max);
  EXPECT_EQ(min_normal(f), row.min_normal);
  EXPECT_EQ(min_subnormal(f), row.min_subnormal);
  EXPECT_EQ(unit_roundoff(f), std::ldexp(1.0, -row.precision));
  EXPECT_EQ(f.storage_bytes * 8, row.storage_bits);
  EXPECT_EQ(f.bits, row.bits);
  EXPECT_EQ(f.padding, row.padding);
  EXPECT_EQ(f.precision, row.precision);
  EXPECT_EQ(f.has_infinity(), row.infinity);
  EXPECT_TRUE(f.is_float());
  EXPECT_EQ(f.is_signed(), GetParam() != "float8_e8m0fnu");
}

// If all numbers of a float format have the same fields, its bits are sign, exponent and mantissa.
// The bytes of a stored element are the smallest power of two that holds it.
TEST(FormatsTest, FieldsAddUpToTheBits) {
  for (const Format& f : formats()) {
    int bytes = 1;
    while (8 * bytes < f.bits + f.padding) bytes *= 2;
    EXPECT_EQ(f.storage_bytes, bytes) << f.name;
    if (!f.is_float() || f.specials == Specials::kTapered) continue;
    EXPECT_EQ((f.is_signed() ? 1 : 0) + f.exponent_bits + f.precision - 1, f.bits) << f.name;
  }
}

TEST(FormatsTest, TheTableIsComplete) {
  std::set<std::string> names;
  for (const Format& f : formats()) names.emplace(f.name);
  std::set<std::string> expected = {"int4",  "uint4",  "int8",   "uint8",  "int16", "int32",
                                    "int64", "uint16", "uint32", "uint64", "bool"};
  for (const std::string& name : oracle::names()) expected.insert(name);
  EXPECT_EQ(names, expected);
  EXPECT_EQ(formats().size(), expected.size());
}

TEST(FormatsTest, StandardTypesAgree) {
  EXPECT_EQ(max_finite(format_named("float32")),
            static_cast<double>(std::numeric_limits<float>::max()));
  EXPECT_EQ(min_normal(format_named("float32")),
            static_cast<double>(std::numeric_limits<float>::min()));
  EXPECT_EQ(min_subnormal(format_named("float32")),
            static_cast<double>(std::numeric_limits<float>::denorm_min()));
  EXPECT_EQ(max_finite(format_named("float64")), std::numeric_limits<double>::max());
  EXPECT_EQ(min_subnormal(format_named("float64")), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(unit_roundoff(format_named("float64")), std::numeric_limits<double>::epsilon() / 2);
}

TEST(FormatsTest, Integers) {
  EXPECT_EQ(max_finite(format_named("int8")), 127);
  EXPECT_EQ(max_finite(format_named("uint8")), 255);
  EXPECT_EQ(max_finite(format_named("int16")), 32767);
  EXPECT_EQ(max_finite(format_named("int32")), 2147483647);
  EXPECT_EQ(max_finite(format_named("bool")), 1);
  EXPECT_EQ(min_normal(format_named("int16")), 1);
  EXPECT_EQ(min_subnormal(format_named("int16")), 1);
  EXPECT_EQ(unit_roundoff(format_named("int16")), 0);
  EXPECT_TRUE(format_named("int8").is_signed());
  EXPECT_FALSE(format_named("uint8").is_signed());
  EXPECT_FALSE(format_named("bool").is_signed());
  EXPECT_FALSE(format_named("int8").has_infinity());
  EXPECT_FALSE(is_nan(format_named("int8"), 0x80));
  EXPECT_FALSE(is_inf(format_named("int8"), 0x7f));
  EXPECT_FALSE(is_subnormal(format_named("int8"), 1));
  EXPECT_TRUE(is_valid_code(format_named("int8"), 0xff));
  EXPECT_TRUE(is_valid_code(format_named("bool"), 1));
  EXPECT_FALSE(is_valid_code(format_named("bool"), 2));
  EXPECT_TRUE(is_valid_code(format_named("int64"), ~std::uint64_t{0}));
}

TEST(FormatsTest, NamesAreFound) {
  for (const Format& f : formats()) {
    EXPECT_EQ(&format_named(f.name), &f);
    EXPECT_EQ(find_format(f.name), &f);
  }
  EXPECT_EQ(find_format("float17"), nullptr);
  EXPECT_EQ(find_format(""), nullptr);
}

// Names that torch, CUDA, C++ and papers use are found.
TEST(FormatsTest, NamesOfOthersAreFound) {
  const std::pair<const char*, const char*> names[] = {{"bf16", "bfloat16"},
                                                       {"fp16", "float16"},
                                                       {"half", "float16"},
                                                       {"fp32", "float32"},
                                                       {"float", "float32"},
                                                       {"single", "float32"},
                                                       {"fp64", "float64"},
                                                       {"double", "float64"},
                                                       {"tf32", "tfloat32"},
                                                       {"hf32", "hfloat32"},
                                                       {"hif8", "hifloat8"},
                                                       {"fp8_e4m3fn", "float8_e4m3fn"},
                                                       {"fp8_e5m2", "float8_e5m2"},
                                                       {"fp6_e3m2fn", "float6_e3m2fn"},
                                                       {"fp4_e2m1fn", "float4_e2m1fn"},
                                                       {"torch.bfloat16", "bfloat16"},
                                                       {"torch.half", "float16"},
                                                       {"torch.float8_e4m3fnuz", "float8_e4m3fnuz"},
                                                       {"torch.long", "int64"},
                                                       {"int", "int32"},
                                                       {"short", "int16"},
                                                       {"torch.bool", "bool"}};
  for (const auto& [alias, name] : names) EXPECT_EQ(format_named(alias).name, name) << alias;
  for (const char* none :
       {"", "fp", "fp8", "fp16x", "torch.", "torch", "BF16", "fp_e5m6", "fpfloat16"}) {
    EXPECT_EQ(find_format(none), nullptr) << none;
  }
}

std::string refusal_of(const char* name) {
  return error_of([&] { format_named(name); });
}

TEST(FormatsTest, AnUnknownNameNamesTheNearest) {
  EXPECT_EQ(refusal_of("bflota16"),
            "unknown dtype 'bflota16': did you mean 'bfloat16'?; docs/formats.md lists all");
  EXPECT_EQ(refusal_of("float8_e4m3"),
            "unknown dtype 'float8_e4m3': did you mean 'float8_e4m3fn'?; docs/formats.md lists "
            "all");
  EXPECT_EQ(refusal_of("quaternion"), "unknown dtype 'quaternion'; docs/formats.md lists all");
  EXPECT_EQ(no_dtype("bflota16"),
            "'bflota16' is no dtype that assay knows; docs/formats.md lists all");
}

TEST(FormatsTest, AFloatOfSeveralFormatsIsAskedWhichOne) {
  const std::string fp8 =
      " may be float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz, float8_e8m0fnu: which "
      "one?";
  EXPECT_EQ(refusal_of("fp8"), "'fp8'" + fp8);
  EXPECT_EQ(no_dtype("float8"), "'float8'" + fp8);
  EXPECT_EQ(refusal_of("torch.float8"), "'torch.float8'" + fp8);
  EXPECT_EQ(refusal_of("fp6"), "'fp6' may be float6_e2m3fn, float6_e3m2fn: which one?");
  EXPECT_EQ(refusal_of("fp4"), "'fp4' may be float4_e2m1fn, float4_e1m2fn: which one?");
}

TEST(RoundingNameTest, All) {
  EXPECT_EQ(rounding_name(Rounding::kNearestEven), "nearest_even");
  EXPECT_EQ(rounding_name(Rounding::kNearestAway), "nearest_away");
  EXPECT_EQ(rounding_name(Rounding::kTowardZero), "toward_zero");
  EXPECT_EQ(rounding_name(Rounding::kUp), "up");
  EXPECT_EQ(rounding_name(Rounding::kDown), "down");
  EXPECT_EQ(rounding_name(Rounding::kToOdd), "to_odd");
  EXPECT_EQ(rounding_name(Rounding::kStochastic), "stochastic");
}

TEST(RoundingNames, AreReadAsTheyAreWritten) {
  for (const RoundingRow& row : rounding_rows()) {
    EXPECT_EQ(rounding_name(row.rounding), row.name);
    EXPECT_EQ(find_rounding(row.name), row.rounding);
  }
  EXPECT_EQ(rounding_rows().size(), 7u);
  for (const char* none : {"", "nearest", "Nearest_even", "up "}) {
    EXPECT_EQ(find_rounding(none), std::nullopt) << none;
  }
  for (const RoundingRow& row : deterministic_rounding_rows()) {
    EXPECT_EQ(round_to(format_named("float32"), 1.5, row.rounding), 1.5) << row.name;
  }
  EXPECT_EQ(deterministic_rounding_rows().size(), 6u);
}

TEST(ElementTextTest, DecimalAndBits) {
  EXPECT_EQ(element_text(format_named("bfloat16"), 0x3fc0), "1.5 (0x3fc0)");
  EXPECT_EQ(element_text(format_named("float32"), 0x3dcccccd), "0.1 (0x3dcccccd)");
  EXPECT_EQ(element_text(format_named("float64"), 0x3fb999999999999a), "0.1 (0x3fb999999999999a)");
  EXPECT_EQ(element_text(format_named("float16"), 0x0001), "5.9604645e-08 (0x0001)");
  EXPECT_EQ(element_text(format_named("float16"), 0x8000), "-0 (0x8000)");
  EXPECT_EQ(element_text(format_named("float16"), 0xfc00), "-inf (0xfc00)");
  EXPECT_EQ(element_text(format_named("float16"), 0x7e00), "nan (0x7e00)");
  EXPECT_EQ(element_text(format_named("float8_e4m3fn"), 0x7e), "448 (0x7e)");
  EXPECT_EQ(element_text(format_named("float4_e2m1fn"), 0x3), "1.5 (0x03)");
  EXPECT_EQ(element_text(format_named("int8"), 0xff), "-1");
  EXPECT_EQ(element_text(format_named("uint8"), 0xff), "255");
  EXPECT_EQ(element_text(format_named("int64"), std::uint64_t{1} << 63), "-9223372036854775808");
  EXPECT_EQ(element_text(format_named("bool"), 1), "1");
}

TEST(ElementTextTest, DecimalsTellFloat32Apart) {
  const Format& f = format_named("float32");
  for (std::uint64_t code = 0x3f7fff00; code < 0x3f800100; ++code) {
    const std::string text = element_text(f, code);
    EXPECT_EQ(encode(f, static_cast<double>(std::stof(text))), code) << text;
  }
}

TEST(ExampleTest, OfTheHeader) {
  const Format& bf16 = format_named("bfloat16");
  EXPECT_EQ(encode(bf16, 1.0 / 3), 0x3eabu);
  EXPECT_EQ(decode(bf16, 0x3eab), 0.333984375);
  EXPECT_EQ(ulp_distance(bf16, 0x3eab, 0x3eac), 1u);
  EXPECT_EQ(custom_float(4, 4, 7, Specials::kNanOnly).name, "float9_e4m4fn");
}

// For an integer, all bits but the sign are its precision. It has no other fields.
TEST(FormatsTest, IntegersHaveNoExponent) {
  int seen = 0;
  for (const Format& f : formats()) {
    if (f.is_float()) continue;
    EXPECT_EQ(f.exponent_bits, 0) << f.name;
    EXPECT_EQ(f.bias, 0) << f.name;
    EXPECT_EQ(f.padding, 0) << f.name;
    EXPECT_EQ(f.specials, Specials::kFinite) << f.name;
    EXPECT_EQ(f.precision, f.is_signed() ? f.bits - 1 : f.bits) << f.name;
    ++seen;
  }
  EXPECT_EQ(seen, 11);
}

// The number of binades of the normal numbers has as many bits as the exponent. This holds for
// hifloat8, too, whose exponent bits lie elsewhere in every code.
TEST(FormatsTest, ExponentBitsCountTheBinades) {
  for (const Format& f : formats()) {
    if (!f.is_float() || f.bits > 16) continue;
    std::set<int> binades;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits; ++code) {
      const double value = std::abs(decode(f, code << f.padding));
      if (std::isfinite(value) && value >= min_normal(f)) binades.insert(std::ilogb(value));
    }
    EXPECT_EQ(std::bit_width(binades.size()), static_cast<std::size_t>(f.exponent_bits)) << f.name;
  }
}

// The ulp of a NaN has the sign of the NaN, so that both are printed alike.
TEST(UlpTest, OfNanIsThatNan) {
  for (const double sign : {1.0, -1.0}) {
    const double nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), sign);
    for (const char* name : {"float32", "hifloat8", "int8"}) {
      const double ulp = ulp_of(format_named(name), nan);
      EXPECT_TRUE(std::isnan(ulp)) << name;
      EXPECT_EQ(std::signbit(ulp), sign < 0) << name;
    }
  }
}

// An integer has as many bits as its name says, and a sign unless its name says otherwise. The
// smallest value of hifloat8 is 2^-bias.
TEST(FormatsTest, IntegersAreWhatTheirNamesSay) {
  for (const Format& f : formats()) {
    const std::string name(f.name);
    const std::size_t digits = name.find_first_of("0123456789");
    if (f.is_float() || digits == std::string::npos) continue;
    EXPECT_EQ(f.bits, std::stoi(name.substr(digits))) << name;
    EXPECT_EQ(f.kind, name[0] == 'u' ? Kind::kUnsigned : Kind::kSigned) << name;
  }
  EXPECT_EQ(format_named("bool").bits, 1);
  const Format& tapered = format_named("hifloat8");
  EXPECT_EQ(std::ldexp(1.0, -tapered.bias), decode(tapered, 1));
}

}  // namespace
}  // namespace assay
