// quantize and dequantize.
#include "assay/op/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/op/operator.h"
#include "assay/op/scales.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;
using testing::HasSubstr;

Case quantize(Tensor x, const char* dtype, const char* scaling, const char* scales = "free") {
  return operation("quantize", {{"x", std::move(x)}},
                   {{"output_dtype", dtype}, {"scaling", scaling}, {"scales", scales}});
}

// Returns the case of the scales that belong to a case of quantized values.
Case scales_case(Case c, const char* dtype = "float32") {
  c.attributes["quantized_dtype"] = c.attributes.at("output_dtype");
  c.attributes["output_dtype"] = dtype;
  c.attributes["result"] = "scales";
  return c;
}

TEST(QuantizeTest, ByHand) {
  const Tensor x = values("float32", {2, 2}, {448, -224, 0, 1.75});
  for (const char* machine : {"exact", "ascend910b", "hopper"}) {
    Case c = quantize(x, "float8_e4m3fn", "tensor");
    EXPECT_EQ(on(machine, c), (std::vector<double>{448, -224, 0, 1.75}));
    EXPECT_EQ(on(machine, scales_case(c)), (std::vector<double>{1}));
    c = quantize(x, "float8_e4m3fn", "row", "power_of_two");
    EXPECT_EQ(on(machine, c), (std::vector<double>{448, -224, 0, 448}));
    EXPECT_EQ(on(machine, scales_case(c)), (std::vector<double>{1, 0x1p-8}));
    c = quantize(x, "int8", "1x2", "power_of_two");
    EXPECT_EQ(on(machine, scales_case(c)), (std::vector<double>{4, 0x1p-6}));
    EXPECT_EQ(on(machine, c), (std::vector<double>{112, -56, 0, 112}));
  }
}

// amax is at least 1e-4, so that a block of zeros has a scale, too.
TEST(QuantizeTest, TheSmallestAmax) {
  const Tensor x = values("float32", {3}, {0, 1e-6, -1e-5});
  const Case c = quantize(x, "float8_e4m3fn", "tensor");
  const float scale = 1e-4f / 448;
  EXPECT_EQ(on("hopper", scales_case(c)), (std::vector<double>{scale}));
  EXPECT_EQ(on("hopper", c), (std::vector<double>{0, 4.5, -44}));
  EXPECT_EQ(on("hopper", scales_case(quantize(x, "float8_e4m3fn", "tensor", "power_of_two"))),
            (std::vector<double>{0x1p-22}));
}

// Compares each scaling and method with a plain loop over blocks, in the test's own float
// arithmetic.
TEST(QuantizeTest, IsFloat32Arithmetic) {
  const std::int64_t rows = 150, columns = 300;
  const Tensor x = random_tensor("bfloat16", {2, rows, columns}, 5, 3);
  const auto in = x.view().values();
  const struct {
    const char* word;
    std::int64_t block_rows, block_columns;
  } scalings[] = {{"tensor", 0, 0},      {"row", 1, columns}, {"1x128", 1, 128},
                  {"128x128", 128, 128}, {"1x32", 1, 32},     {"7x3", 7, 3}};
  for (const auto& scaling : scalings) {
    const char* word = scaling.word;
    const std::int64_t br = scaling.block_rows, bc = scaling.block_columns;
    for (const bool multiply : {false, true}) {
      Case c = quantize(x, "float8_e4m3fn", word);
      c.attributes["method"] = multiply ? "multiply" : "divide";
      const auto out = on("hopper", c), scales = on("hopper", scales_case(c));
      const std::int64_t gr = br == 0 ? 1 : (rows + br - 1) / br,
                         gc = bc == 0 ? 1 : (columns + bc - 1) / bc;
      ASSERT_EQ(scales.size(), static_cast<std::size_t>(br == 0 ? 1 : 2 * gr * gc)) << word;
      std::vector<float> amax(scales.size(), 1e-4f);
      const auto block = [&](std::int64_t i) {
        const std::int64_t b = i / (rows * columns), r = i / columns % rows, k = i % columns;
        return static_cast<std::size_t>(br == 0 ? 0 : (b * gr + r / br) * gc + k / bc);
      };
      const auto count = static_cast<std::int64_t>(in.size());
      for (std::int64_t i = 0; i < count; ++i) {
        float& size = amax[block(i)];
        size = std::max(size, std::abs(static_cast<float>(in[static_cast<std::size_t>(i)])));
      }
      for (std::int64_t i = 0; i < count; ++i) {
        const auto v = static_cast<float>(in[static_cast<std::size_t>(i)]);
        const float size = amax[block(i)], scale = size / 448.0f;
        ASSERT_EQ(scales[block(i)], scale);
        const float q = multiply ? v * (448.0f / size) : v / scale;
        ASSERT_EQ(out[static_cast<std::size_t>(i)], round_to(format_named("float8_e4m3fn"), q))
            << word << " " << i;
      }
    }
  }
}

// A scale that is a power of two is the smallest one with largest * scale >= amax. Tests amax at
// the edges, where the test finds the scale in another way.
TEST(QuantizeTest, PowersOfTwoAtTheirEdges) {
  for (const char* dtype : {"float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float_e5m6", "int8",
                            "float4_e2m1fn", "hifloat8"}) {
    const double largest = max_finite(format_named(dtype));
    for (int e = -9; e < 20; ++e) {
      const auto edge = static_cast<float>(largest * std::ldexp(1.0, e));
      if (edge < 1e-4f) continue;
      for (const float amax : {std::nextafter(edge, 0.0f), edge, std::nextafter(edge, 1e30f)}) {
        const double expected = std::ldexp(1.0, amax > edge ? e + 1 : e);
        const Case c =
            scales_case(quantize(values("float32", {1}, {-amax}), dtype, "tensor", "power_of_two"));
        ASSERT_EQ(on("hopper", c)[0], expected) << dtype << " " << e;
        ASSERT_EQ(on("exact", c)[0], expected) << dtype << " " << e;
        ASSERT_EQ(derived_tolerance(c).rtol, 0);
      }
    }
  }
  Case c =
      scales_case(quantize(values("float32", {1}, {3}), "float8_e4m3fn", "tensor", "power_of_two"),
                  "float8_e8m0fnu");
  EXPECT_EQ(emulate(c, machine_named("hopper")).bits_at(0), 127u - 7);
}

// Results are within the derived tolerance for random values of every format and kind. Some of them
// are outside half of it.
TEST(QuantizeTest, MeetsItsTolerance) {
  int mismatches_of_half = 0;
  for (const char* input : {"float32", "float16", "bfloat16"}) {
    for (const char* dtype :
         {"float8_e4m3fn", "float8_e5m2", "float_e5m6", "float6_e2m3fn", "float16", "int8"}) {
      for (const char* scaling : {"tensor", "1x128"}) {
        for (const char* scales : {"free", "power_of_two"}) {
          for (const char* method : {"divide", "multiply"}) {
            Case c = quantize(random_tensor(input, {64, 256}, 9), dtype, scaling, scales);
            c.attributes["method"] = method;
            EXPECT_EQ(cases::outside_tolerance(c, "hopper"), 0) << input << " " << dtype;
            const DerivedTolerance t = derived_tolerance(c);
            const auto out = on("hopper", c), golden = golden_result(c).view().values();
            for (std::size_t i = 0; i < out.size(); ++i) {
              mismatches_of_half +=
                  std::abs(out[i] - golden[i]) <= (t.atol + t.rtol * std::abs(golden[i])) / 2 ? 0
                                                                                              : 1;
            }
            EXPECT_EQ(cases::outside_tolerance(scales_case(c), "hopper"), 0);
          }
        }
      }
    }
  }
  EXPECT_GT(mismatches_of_half, 10000);
}

TEST(QuantizeTest, NanAndInfinityAreSettled) {
  const Tensor x = values("float32", {3, 2}, {1, std::nan(""), -3, kInfinity, 448, -448});
  for (const char* machine : {"exact", "hopper"}) {
    const Case c = quantize(x, "float8_e4m3fn", "row");
    const auto out = on(machine, c), scales = on(machine, scales_case(c));
    EXPECT_TRUE(std::isnan(scales[0]) && std::isnan(out[0]) && std::isnan(out[1]));
    EXPECT_EQ(scales[1], kInfinity);
    EXPECT_TRUE(out[2] == 0 && std::signbit(out[2]));
    EXPECT_TRUE(std::isnan(out[3]));
    EXPECT_EQ(out[4], 448);
    EXPECT_EQ(error_of([&] { on(machine, quantize(x, "int8", "row")); }),
              "case t: x holds NaN or infinity, which int8 cannot represent");
  }
}

TEST(QuantizeTest, RefusesByName) {
  const Tensor x = values("float32", {2, 2}, {1, 2, 3, 4});
  const auto error = [](const Case& c) { return error_of([&] { golden_result(c); }); };
  EXPECT_EQ(error(operation("quantize", {{"x", x}})),
            "case t: quantize needs the attribute output_dtype: format of the values, or of the "
            "scales");
  EXPECT_EQ(error(quantize(x, "float64", "row")),
            "case t: output_dtype is float64; values are quantized to int8 or a float format of at "
            "most 16 bits");
  EXPECT_EQ(error(quantize(x, "int8", "column")),
            "case t: scaling is 'column', which does not fit a tensor of shape [2, 2]; give "
            "tensor, row, or blocks of a matrix such as 1x128 or 128x128");
  for (const char* word : {"0x128", "x", "1x", "x1", "1x1x1", "-1x1", "", "99999999999999999x1"}) {
    EXPECT_THAT(error(quantize(x, "int8", word)), HasSubstr("give tensor, row")) << word;
  }
  EXPECT_THAT(error(quantize(values("float32", {1}, {1}), "int8", "1x128")),
              HasSubstr("does not fit a tensor of shape [1]"));
  EXPECT_EQ(error(quantize(x, "int8", "row", "power_of_to")),
            "case t: scales is 'power_of_to': did you mean 'power_of_two'?; it may be free, "
            "power_of_two");
  EXPECT_EQ(error(quantize(values("float64", {1}, {1}), "int8", "tensor")),
            "case t: quantize takes float32 or a narrower float x, not float64");
  EXPECT_EQ(error(scales_case(quantize(x, "float8_e4m3fn", "row"), "float8_e8m0fnu")),
            "case t: output_dtype is float8_e8m0fnu, but scales must be of a float dtype, and "
            "float8_e8m0fnu is only for scales = power_of_two");
  Case c = quantize(x, "int8", "row");
  c.attributes["quantized_dtype"] = "int8";
  EXPECT_THAT(error(c), HasSubstr("quantized_dtype is only for result = scales; leave it out"));
}

TEST(DequantizeTest, UndoesQuantize) {
  for (const char* scaling : {"tensor", "row", "1x128", "128x128"}) {
    for (const char* scales : {"free", "power_of_two"}) {
      const Tensor x = random_tensor("float32", {3, 130, 200}, 12);
      Case c = quantize(x, "float8_e4m3fn", scaling, scales);
      const Tensor codes = emulate(c, machine_named("hopper")),
                   factors = emulate(scales_case(c), machine_named("hopper"));
      const Case back =
          operation("dequantize", {{"x", codes}, {"scale", factors}}, {{"scaling", scaling}});
      EXPECT_EQ(output_format(back).name, "float32");
      EXPECT_EQ(cases::outside_tolerance(back, "hopper"), 0);
      const auto in = x.view().values(), out = on("hopper", back);
      for (std::size_t i = 0; i < in.size(); ++i) {
        // The error is at most half an ulp of e4m3, or half of its smallest subnormal times the
        // largest possible scale.
        ASSERT_LE(std::abs(out[i] - in[i]), 0.0626 * std::abs(in[i]) + 0x1p-10 * 5.5 / 448 * 2.01);
      }
    }
  }
}

TEST(DequantizeTest, Rounds) {
  const Tensor x = values("int8", {2, 2}, {1, -3, 127, 100});
  const Case c = operation("dequantize", {{"x", x}, {"scale", values("float32", {2}, {0.1f, 3})}},
                           {{"scaling", "row"}, {"output_dtype", "bfloat16"}});
  EXPECT_EQ(on("hopper", c),
            (std::vector<double>{round_to(format_named("bfloat16"), 0.1f),
                                 round_to(format_named("bfloat16"), -3 * 0.1f), 380, 300}));
  EXPECT_EQ(golden_result(c).view().value_at(1), -3 * static_cast<double>(0.1f));
  EXPECT_EQ(error_of([&] {
              golden_result(
                  operation("dequantize", {{"x", x}, {"scale", values("float32", {2}, {1, 1})}}));
            }),
            "case t: scale has the shape [2], but the scales of its tensor have []");
  EXPECT_THAT(
      error_of([&] {
        golden_result(operation("dequantize", {{"x", x}, {"scale", values("float64", {}, {1})}}));
      }),
      HasSubstr("scale is float64, but scales must be float32"));
}

// If the case promises scales that are powers of two, they must be.
TEST(DequantizeTest, ScalesThatAreNoPowersOfTwoAreRefusedWhereTheyArePromised) {
  Case c = operation("dequantize",
                     {{"x", values("float8_e4m3fn", {1, 3}, {1, 2, 3})},
                      {"scale", values("float32", {1, 3}, {0x1p-149, 1, 0x1p127})}},
                     {{"scaling", "1x1"}, {"scales", "power_of_two"}});
  EXPECT_EQ(golden_result(c).view().values(), (std::vector<double>{0x1p-149, 2, 3 * 0x1p127}));
  for (const double wrong : {3.0, -1.0, 0.0}) {
    c.inputs["scale"] = values("float32", {1, 3}, {1, 1, wrong});
    EXPECT_EQ(error_of([&] { golden_result(c); }),
              "case t: scale holds " +
                  std::string(wrong == 3   ? "3"
                              : wrong == 0 ? "0"
                                           : "-1") +
                  ", which is no power of two, but the parameter scales is 'power_of_two'");
    c.attributes["scales"] = "free";
    EXPECT_EQ(golden_result(c).view().value_at(2), 3 * wrong);
    c.attributes["scales"] = "power_of_two";
  }
  c.attributes["scales"] = "powers_of_two";
  EXPECT_EQ(error_of([&] { golden_result(c); }),
            "case t: scales is 'powers_of_two': did you mean 'power_of_two'?; it may be free, "
            "power_of_two");
}

TEST(ScalesTest, WhichFormatHoldsWhich) {
  const auto holds = [](const char* wide, const char* narrow) {
    return holds_format(format_named(wide), format_named(narrow));
  };
  EXPECT_TRUE(holds("float16", "float_e5m6"));
  EXPECT_TRUE(holds("float16", "float8_e4m3fn"));
  EXPECT_TRUE(holds("float16", "float8_e5m2"));
  EXPECT_TRUE(holds("float16", "int8"));
  EXPECT_TRUE(holds("bfloat16", "float8_e5m2"));
  EXPECT_TRUE(holds("float32", "float8_e8m0fnu"));
  EXPECT_TRUE(holds("float32", "hifloat8"));
  EXPECT_FALSE(holds("float16", "bfloat16"));
  EXPECT_FALSE(holds("float8_e4m3fn", "int8"));
  EXPECT_FALSE(holds("float8_e5m2", "float8_e4m3fn"));
  EXPECT_FALSE(holds("int8", "float4_e2m1fn"));
}

}  // namespace
}  // namespace assay
