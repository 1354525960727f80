// Tests cast: every pair of dtypes and every rounding, on a machine and by the reference, which
// computes in another way.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::values;

constexpr const char* kModes[] = {"nearest_even", "nearest_away", "toward_zero",
                                  "up",           "down",         "to_odd"};

Tensor int64s(const std::vector<std::int64_t>& list) {
  Tensor x(format_named("int64"), {static_cast<std::int64_t>(list.size())});
  for (std::size_t i = 0; i < list.size(); ++i) {
    x.set_bits(static_cast<std::int64_t>(i), static_cast<std::uint64_t>(list[i]));
  }
  return x;
}

std::vector<std::int64_t> as_int64(const Tensor& x) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    list.push_back(static_cast<std::int64_t>(x.bits_at(i)));
  }
  return list;
}

// Returns all codes of a narrow format. For a wide one, returns random bits and values near the
// targets' ties.
Tensor sources(const Format& f, bool with_nan) {
  std::vector<std::uint64_t> codes;
  if (f.bits <= 12) {
    for (std::uint64_t code = 0; code < std::uint64_t{1} << f.bits; ++code) codes.push_back(code);
  } else {
    Random random(60, static_cast<std::uint64_t>(f.bits + f.exponent_bits));
    for (int i = 0; i < 3000; ++i) {
      std::uint64_t code = (random.next64() >> (64 - f.bits)) << f.padding;
      if (f.is_float() && i % 3 != 0) {
        const int spread = i % 3 == 1 ? 6 : 40;
        const double size =
            std::ldexp(static_cast<double>(random.below(4096)) + 0.25 * (i % 4), -8);
        const int e =
            static_cast<int>(random.below(static_cast<std::uint64_t>(2 * spread))) - spread;
        code = encode(f, std::ldexp(i % 2 != 0 ? -size : size, e));
      }
      codes.push_back(code);
    }
    for (const double v :
         {0.0, -0.0, kInfinity, -kInfinity, 0.5, 1.5, -2.5, 65504.0, 65520.0, 448.0, 464.0}) {
      if (f.is_float()) codes.push_back(encode(f, v));
    }
  }
  std::vector<std::uint64_t> kept;
  for (const std::uint64_t code : codes) {
    if (with_nan || !is_nan(f, code)) kept.push_back(code);
  }
  Tensor x(f, {static_cast<std::int64_t>(kept.size())});
  for (std::size_t i = 0; i < kept.size(); ++i) {
    x.set_bits(static_cast<std::int64_t>(i), kept[i]);
  }
  return x;
}

// The machine casts bits or whole arrays, and the reference casts in long double. Both ways are
// independent and must agree.
TEST(CastTest, TheMachineGivesTheReference) {
  for (const Format& from : formats()) {
    for (const bool saturate : {false, true}) {
      const Tensor x = sources(from, saturate), numbers = sources(from, false);
      for (const Format& to : formats()) {
        for (const char* mode : kModes) {
          for (const char* subnormals : {"gradual", "flush"}) {
            const Case c = operation("cast", {{"x", to.is_float() ? x : numbers}},
                                     {{"output_dtype", std::string(to.name)},
                                      {"rounding", std::string(mode)},
                                      {"subnormals", std::string(subnormals)},
                                      {"saturate", std::int64_t{saturate}}});
            const Tensor ours = emulate(c, machine_named("ascend910b"));
            const Tensor reference = emulate(c, machine_named("exact"));
            ASSERT_EQ(ours.shape(), reference.shape());
            for (std::int64_t i = 0; i < ours.size(); ++i) {
              ASSERT_EQ(ours.bits_at(i), reference.bits_at(i))
                  << from.name << " " << element_text(from, c.input("x").bits_at(i)) << " to "
                  << to.name << " " << mode << " " << subnormals << " saturate " << saturate;
            }
          }
        }
      }
    }
  }
}

TEST(CastTest, RoundingOfTies) {
  const Tensor x = values("float32", {2.5, -2.5, 3.5, 2.25, -2.75});
  const std::vector<std::vector<double>> expected = {{2, -2, 4, 2, -3}, {3, -3, 4, 2, -3},
                                                     {2, -2, 3, 2, -2}, {3, -2, 4, 3, -2},
                                                     {2, -3, 3, 2, -3}, {3, -3, 3, 3, -3}};
  for (std::size_t i = 0; i < std::size(kModes); ++i) {
    const Case c = operation("cast", {{"x", x}},
                             {{"output_dtype", "int8"}, {"rounding", std::string(kModes[i])}});
    EXPECT_EQ(on("ascend910b", c), expected[i]) << kModes[i];
    EXPECT_EQ(golden_result(c).view().values(), expected[i]) << kModes[i];
  }
}

// Tests int64 numbers such as 2^53 + 1, which float64 does not hold.
TEST(CastTest, Int64IsNotRoundedTwice) {
  const std::int64_t tie32 = (std::int64_t{1} << 60) + (std::int64_t{1} << 36);
  const Tensor x =
      int64s({tie32 + 1, tie32, (std::int64_t{1} << 53) + 1, -((std::int64_t{1} << 54) + 3),
              std::numeric_limits<std::int64_t>::min()});
  const auto cast = [&](const char* to, const char* mode) {
    return operation("cast", {{"x", x}},
                     {{"output_dtype", std::string(to)}, {"rounding", std::string(mode)}});
  };
  for (const char* machine : {"ascend910b", "exact"}) {
    const auto single = on(machine, cast("float32", "nearest_even"));
    // Through float64, the tie would be rounded to 2^60.
    EXPECT_EQ(single[0], 0x1p60 + 0x1p37) << machine;
    EXPECT_EQ(single[1], 0x1p60) << machine;
    const auto even = on(machine, cast("float64", "nearest_even"));
    EXPECT_EQ(even[2], 0x1p53) << machine;
    EXPECT_EQ(even[4], -0x1p63) << machine;
    EXPECT_EQ(on(machine, cast("float64", "up"))[2], 0x1p53 + 2) << machine;
    EXPECT_EQ(on(machine, cast("float64", "down"))[3], -(0x1p54 + 4)) << machine;
    EXPECT_EQ(on(machine, cast("float64", "toward_zero"))[3], -0x1p54) << machine;
  }
  const Case same = cast("int64", "nearest_even");
  EXPECT_EQ(as_int64(emulate(same, machine_named("ascend910b"))), as_int64(x));
  EXPECT_EQ(as_int64(golden_result(same)), as_int64(x));
}

TEST(CastTest, OverflowIsThePolicys) {
  const Tensor x = values("float32", {1e5, -kInfinity, kNan, 65519});
  const auto cast = [&](std::int64_t saturate) {
    return operation("cast", {{"x", x}}, {{"output_dtype", "float16"}, {"saturate", saturate}});
  };
  for (const char* machine : {"ascend910b", "exact"}) {
    EXPECT_EQ(on(machine, cast(1)), (std::vector<double>{65504, -65504, 0, 65504})) << machine;
    const auto ieee = on(machine, cast(0));
    EXPECT_EQ(ieee[0], kInfinity);
    EXPECT_EQ(ieee[1], -kInfinity);
    EXPECT_TRUE(std::isnan(ieee[2]));
    EXPECT_EQ(ieee[3], 65504);
  }
  // If the case does not say if it saturates, the machine's own policy holds.
  Case c = cast(0);
  c.attributes.erase("saturate");
  EXPECT_EQ(on("ascend910b", c)[0], 65504);
  EXPECT_EQ(on("exact", c)[0], kInfinity);
  EXPECT_EQ(golden_result(cast(1)).format().name, "float64");
  EXPECT_EQ(golden_result(cast(1)).view().values(), (std::vector<double>{65504, -65504, 0, 65504}));
}

TEST(CastTest, IntegersSaturateAlways) {
  const Case c = operation("cast", {{"x", values("float32", {1e10, -1e10, 300, -1})}},
                           {{"output_dtype", "uint8"}, {"saturate", std::int64_t{0}}});
  EXPECT_EQ(on("ascend910b", c), (std::vector<double>{255, 0, 255, 0}));
  EXPECT_EQ(on("exact", c), (std::vector<double>{255, 0, 255, 0}));
}

TEST(CastTest, Errors) {
  const Tensor x = values("float32", {1, kNan});
  EXPECT_EQ(error_of([&] {
              golden_result(operation("cast", {{"x", x}}));
            }),
            "case t: cast needs the attribute output_dtype: dtype to which x is converted");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("cast", {{"x", x}},
                                      {{"output_dtype", "int8"}, {"saturate", std::int64_t{0}}}));
            }),
            "case t: x holds NaN, which int8 cannot represent; set saturate = 1 to make it 0");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("cast", {{"x", x}},
                                      {{"output_dtype", "float16"}, {"rounding", "half_up"}}));
            }),
            "case t: rounding is 'half_up'; it may be nearest_even, "
            "nearest_away, toward_zero, up, down, to_odd");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("cast", {{"x", x}},
                                      {{"output_dtype", "float16"}, {"subnormals", "never"}}));
            }),
            "case t: subnormals is 'never'; it may be gradual, flush");
  EXPECT_EQ(
      error_of([&] {
        golden_result(operation("cast", {{"x", x}}, {{"output_dtype", "float16"}, {"mode", "up"}}));
      }),
      "case t: cast does not know the parameter 'mode'; it knows rounding, output_dtype, "
      "saturate, subnormals");
}

TEST(CastTest, ItsToleranceIsNone) {
  const Case c = operation("cast", {{"x", cases::random_tensor("float32", {500}, 1)}},
                           {{"output_dtype", "bfloat16"}});
  EXPECT_EQ(derived_tolerance(c).rtol, 0);
  EXPECT_EQ(derived_tolerance(c).atol, 0);
  EXPECT_EQ(cases::outside_tolerance(c, "ascend910b"), 0);
}

}  // namespace
}  // namespace assay
