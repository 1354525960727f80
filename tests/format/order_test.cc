// Tests the order of a format's values: ordinals, distances, neighbours and spacings.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/format/format.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::Spec;

// Returns all codes except NaN, in ascending order of their values, with the infinities at the
// ends.
std::vector<oracle::Point> ladder(const Spec& row) {
  std::vector<oracle::Point> all;
  for (std::uint64_t i = 0; i < std::uint64_t{1} << row.bits; ++i) {
    const std::uint64_t code = i << row.padding;
    const double v = oracle::value(row.name, code);
    if (!std::isnan(v)) all.push_back({v, code});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](oracle::Point a, oracle::Point b) { return a.value < b.value; });
  return all;
}

class OrderTest : public testing::TestWithParam<std::string> {
 protected:
  const Spec& row = oracle::spec(GetParam());
  const Format& format = format_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(UpTo20Bits, OrderTest, testing::ValuesIn(oracle::names(20)),
                         oracle::name_of);

TEST_P(OrderTest, NeighboursDifferByOne) {
  const auto all = ladder(row);
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto low = ordinal(format, all[i].code), high = ordinal(format, all[i + 1].code);
    ASSERT_TRUE(low && high);
    const bool zeros = all[i].value == all[i + 1].value;
    ASSERT_EQ(*high - *low, zeros ? 0 : 1) << all[i].value << " and " << all[i + 1].value;
    ASSERT_EQ(ulp_distance(format, all[i].code, all[i + 1].code), zeros ? 0u : 1u);
    ASSERT_EQ(ulp_distance(format, all[i + 1].code, all[i].code), zeros ? 0u : 1u);
  }
  if (row.name != std::string("float8_e8m0fnu")) {
    EXPECT_EQ(ordinal(format, encode(format, 0.0)), 0);
    EXPECT_EQ(ordinal(format, encode(format, -0.0)), 0);
    EXPECT_EQ(ulp_distance(format, all.front().code, all.back().code),
              all.size() - (row.negative_zero ? 2 : 1));
  }
}

TEST_P(OrderTest, NextStepsToTheNeighbour) {
  const auto all = ladder(row);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double v = all[i].value;
    // The next larger value is the next one in the list. Infinity and the last code have no other
    // neighbour than themselves.
    std::size_t up = i, down = i;
    while (up + 1 < all.size() && all[up].value == v) ++up;
    while (down > 0 && all[down].value == v) --down;
    const double above = std::isinf(v) ? v : std::max(v, all[up].value);
    const double below = std::isinf(v) ? v : std::min(v, all[down].value);
    ASSERT_EQ(decode(format, next_up(format, all[i].code)), above) << v;
    ASSERT_EQ(decode(format, next_down(format, all[i].code)), below) << v;
    ASSERT_TRUE(is_valid_code(format, next_up(format, all[i].code)));
    ASSERT_TRUE(is_valid_code(format, next_down(format, all[i].code)));
  }
}

TEST_P(OrderTest, AtOrdinalIsTheInverse) {
  const auto all = ladder(row);
  for (const auto& entry : all) {
    const auto back = at_ordinal(format, *ordinal(format, entry.code));
    ASSERT_TRUE(back);
    ASSERT_EQ(*back, entry.value == 0 ? encode(format, 0.0) : entry.code) << entry.value;
  }
  EXPECT_FALSE(at_ordinal(format, *ordinal(format, all.front().code) - 1));
  EXPECT_FALSE(at_ordinal(format, *ordinal(format, all.back().code) + 1));
  EXPECT_FALSE(at_ordinal(format, std::numeric_limits<std::int64_t>::min()));
  EXPECT_FALSE(at_ordinal(format, std::numeric_limits<std::int64_t>::max()));
}

TEST_P(OrderTest, NanHasNoPlace) {
  const std::uint64_t one = encode(format, 1.0);
  for (std::uint64_t i = 0; i < std::uint64_t{1} << row.bits; ++i) {
    const std::uint64_t code = i << row.padding;
    if (!std::isnan(oracle::value(row.name, code))) continue;
    ASSERT_FALSE(ordinal(format, code));
    ASSERT_FALSE(ulp_distance(format, code, one));
    ASSERT_FALSE(ulp_distance(format, one, code));
    ASSERT_FALSE(ulp_distance(format, code, code));
    ASSERT_EQ(next_up(format, code), code);
    ASSERT_EQ(next_down(format, code), code);
  }
}

TEST_P(OrderTest, UlpIsTheSpacingAtAValue) {
  // The ulp is the gap above the value. For the largest value, it is the gap below.
  if (GetParam() == "hifloat8") {
    const auto table = oracle::points(row);
    for (std::size_t i = 0; i + 1 < table.size(); ++i) {
      const double gap = table[i + 1].value - table[i].value;
      ASSERT_EQ(ulp_of(format, table[i].value), gap) << table[i].value;
      ASSERT_EQ(ulp_of(format, -(table[i].value + gap / 2)), gap) << table[i].value;
    }
    EXPECT_EQ(ulp_of(format, 32768), 8192);
    EXPECT_EQ(ulp_of(format, kInfinity), 8192);
    return;
  }
  const int top = std::ilogb(row.max);
  for (int e = std::ilogb(row.min_subnormal) - 3; e <= top + 3; ++e) {
    const int clamped = std::clamp(e, row.min_exponent, top);
    const double expected = std::ldexp(1.0, clamped - (row.precision - 1));
    for (const double v : {std::ldexp(1.0, e), std::ldexp(1.25, e), std::ldexp(1.9999, e)}) {
      ASSERT_EQ(ulp_of(format, v), expected) << std::hexfloat << v;
      ASSERT_EQ(ulp_of(format, -v), expected) << std::hexfloat << v;
    }
  }
  EXPECT_EQ(ulp_of(format, 0.0), row.min_subnormal);
  EXPECT_EQ(ulp_of(format, -kInfinity), std::ldexp(1.0, top - (row.precision - 1)));
  EXPECT_TRUE(std::isnan(ulp_of(format, kNan)));
}

TEST(WideOrderTest, Float32NeighboursAreThoseOfNextafter) {
  const Format& f = format_named("float32");
  Random random(3, 1);
  for (int i = 0; i < 100000; ++i) {
    const auto code = static_cast<std::uint32_t>(random.next64());
    const float v = std::bit_cast<float>(code);
    if (!std::isfinite(v) || v == 0) continue;
    const float up = std::nextafterf(v, std::numeric_limits<float>::infinity());
    const float down = std::nextafterf(v, -std::numeric_limits<float>::infinity());
    ASSERT_EQ(decode(f, next_up(f, code)), static_cast<double>(up)) << v;
    ASSERT_EQ(decode(f, next_down(f, code)), static_cast<double>(down)) << v;
    ASSERT_EQ(ulp_distance(f, code, std::bit_cast<std::uint32_t>(up)), 1u);
    ASSERT_EQ(*ordinal(f, std::bit_cast<std::uint32_t>(up)), *ordinal(f, code) + 1);
  }
}

TEST(WideOrderTest, Float64NeighboursAreThoseOfNextafter) {
  const Format& f = format_named("float64");
  Random random(3, 2);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t code = random.next64();
    const double v = std::bit_cast<double>(code);
    if (!std::isfinite(v) || v == 0) continue;
    ASSERT_EQ(decode(f, next_up(f, code)), std::nextafter(v, kInfinity)) << v;
    ASSERT_EQ(decode(f, next_down(f, code)), std::nextafter(v, -kInfinity)) << v;
  }
}

TEST(WideOrderTest, EndsAndZeros) {
  const Format& f32 = format_named("float32");
  EXPECT_EQ(next_up(f32, 0x7f7fffff), 0x7f800000u);
  EXPECT_EQ(next_up(f32, 0x7f800000), 0x7f800000u);
  EXPECT_EQ(next_down(f32, 0xff800000), 0xff800000u);
  EXPECT_EQ(next_up(f32, 0x80000000), 0x00000001u);
  EXPECT_EQ(next_down(f32, 0x00000000), 0x80000001u);
  EXPECT_EQ(ulp_distance(f32, 0x80000000, 0), 0u);
  EXPECT_EQ(ulp_distance(f32, 0x80000001, 1), 2u);
  EXPECT_EQ(ulp_distance(f32, 0xff800000, 0x7f800000), 0xff000000u);
  EXPECT_FALSE(ulp_distance(f32, 0x7f800001, 0));
  const Format& f64 = format_named("float64");
  const std::uint64_t infinity = std::bit_cast<std::uint64_t>(kInfinity);
  EXPECT_EQ(ulp_distance(f64, infinity, infinity | (std::uint64_t{1} << 63)), 2 * infinity);
  // tfloat32 counts in its own steps, not in those of the float32 that it lies in.
  EXPECT_EQ(ulp_distance(format_named("tfloat32"), 0x3f800000, 0x3f802000), 1u);
  EXPECT_EQ(next_up(format_named("tfloat32"), 0x3f800000), 0x3f802000u);
  EXPECT_EQ(next_down(format_named("hfloat32"), 0x3f800000), 0x3f7ff000u);
}

TEST(IntegerOrderTest, DistancesAreDifferences) {
  EXPECT_EQ(ulp_distance(format_named("int8"), 0x80, 0x7f), 255u);
  EXPECT_EQ(ulp_distance(format_named("uint8"), 3, 250), 247u);
  EXPECT_EQ(ulp_distance(format_named("int16"), 0xffff, 1), 2u);
  EXPECT_EQ(ulp_distance(format_named("int4"), 0xf, 1), 2u);
  EXPECT_EQ(ulp_distance(format_named("uint64"), ~std::uint64_t{0}, 1), ~std::uint64_t{1});
  EXPECT_EQ(ulp_distance(format_named("int32"), 0x80000000, 0x7fffffff), 0xffffffffu);
  EXPECT_EQ(ulp_distance(format_named("int64"), std::uint64_t{1} << 63, 0x7fffffffffffffff),
            ~std::uint64_t{0});
  EXPECT_EQ(ulp_distance(format_named("bool"), 0, 1), 1u);
  EXPECT_EQ(ordinal(format_named("int8"), 0xff), -1);
  EXPECT_EQ(ordinal(format_named("uint8"), 0xff), 255);
}

TEST(IntegerOrderTest, AtOrdinal) {
  EXPECT_EQ(at_ordinal(format_named("int8"), -1), 0xffu);
  EXPECT_EQ(at_ordinal(format_named("int8"), -128), 0x80u);
  EXPECT_FALSE(at_ordinal(format_named("int8"), -129));
  EXPECT_FALSE(at_ordinal(format_named("int8"), 128));
  EXPECT_EQ(at_ordinal(format_named("uint8"), 255), 255u);
  EXPECT_FALSE(at_ordinal(format_named("uint8"), -1));
  EXPECT_EQ(at_ordinal(format_named("bool"), 1), 1u);
  EXPECT_FALSE(at_ordinal(format_named("bool"), 2));
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(at_ordinal(format_named("int64"), low), std::uint64_t{1} << 63);
  EXPECT_EQ(at_ordinal(format_named("int64"), -(low + 1)), ~(std::uint64_t{1} << 63));
}

// Codes of every integer format come back from their positions, at the ends and in the middle.
TEST(IntegerOrderTest, PositionsLeadBackToTheirCodes) {
  for (const Format& f : formats()) {
    if (f.is_float()) continue;
    const std::uint64_t all = f.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << f.bits) - 1;
    for (const std::uint64_t code :
         {std::uint64_t{0}, std::uint64_t{1}, all / 2, all / 2 + 1, all}) {
      EXPECT_EQ(at_ordinal(f, *ordinal(f, code)), code & all) << f.name;
    }
  }
}

TEST(IntegerOrderTest, NextStopsAtTheRange) {
  EXPECT_EQ(next_up(format_named("int8"), 0x7f), 0x7fu);
  EXPECT_EQ(next_down(format_named("int8"), 0x80), 0x80u);
  EXPECT_EQ(next_up(format_named("int8"), 0xff), 0u);
  EXPECT_EQ(next_down(format_named("int8"), 0), 0xffu);
  EXPECT_EQ(next_down(format_named("uint8"), 0), 0u);
  EXPECT_EQ(next_up(format_named("uint8"), 255), 255u);
  EXPECT_EQ(next_up(format_named("int32"), 0x7fffffff), 0x7fffffffu);
  EXPECT_EQ(next_down(format_named("int32"), 0x80000000), 0x80000000u);
  EXPECT_EQ(next_up(format_named("int64"), 0x7fffffffffffffff), 0x7fffffffffffffffu);
  EXPECT_EQ(next_down(format_named("int64"), std::uint64_t{1} << 63), std::uint64_t{1} << 63);
  EXPECT_EQ(next_up(format_named("int64"), 0x7ffffffffffffffe), 0x7fffffffffffffffu);
  EXPECT_EQ(next_up(format_named("bool"), 0), 1u);
  EXPECT_EQ(next_up(format_named("bool"), 1), 1u);
  EXPECT_EQ(next_down(format_named("bool"), 1), 0u);
  EXPECT_EQ(ulp_of(format_named("int32"), 1e6), 1);
}

}  // namespace
}  // namespace assay
