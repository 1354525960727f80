#include "assay/op/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "assay/base/random.h"
#include "assay/op/deform_roi_pool.h"
#include "assay/op/operator.h"
#include "vector_cases.h"

namespace assay {
namespace {

using testing::HasSubstr;

Recipe small() {
  Recipe recipe;
  recipe.dtype = &format_named("float32");
  recipe.sizes = {3, 4, 5};
  recipe.seed = 9;
  return recipe;
}

std::string refusal(std::string_view op, const Recipe& recipe) {
  try {
    (void)generate_case(op, recipe);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(made)";
}

// Every operator makes cases for which a golden result and a tolerance can be computed.
TEST(GenerateTest, EveryRowMakesCases) {
  for (const Operator& row : operators()) {
    ASSERT_NE(row.generate, nullptr) << row.name;
    const Case c = generate_case(row.name, cases::small_recipe(row.name));
    EXPECT_TRUE(is_case_name(c.name)) << c.name;
    EXPECT_GT(golden_result(c).size(), 0) << row.name;
    EXPECT_GE(derived_tolerance(c).atol, 0) << row.name;
    for (const char* word : {"distribution", "why"})
      EXPECT_FALSE(c.text(word)->empty()) << row.name;
  }
}

// For every operator, the draws do not depend on the number of threads.
TEST(GenerateTest, ThreadsChangeNothing) {
  for (const Operator& row : operators()) {
    Recipe recipe = cases::small_recipe(row.name);
    recipe.threads = 1;
    const Case one = generate_case(row.name, recipe);
    recipe.threads = 3;
    const Case three = generate_case(row.name, recipe);
    EXPECT_EQ(one.attributes, three.attributes);
    for (const auto& [input, tensor] : one.inputs) {
      const Tensor& other = three.input(input);
      ASSERT_EQ(tensor.shape(), other.shape());
      for (std::int64_t i = 0; i < tensor.size(); ++i) {
        ASSERT_EQ(tensor.bits_at(i), other.bits_at(i)) << row.name << " " << input;
      }
    }
  }
}

TEST(GenerateTest, InputsAreDrawnInTheStreamOfTheirName) {
  Recipe recipe = small();
  recipe.distributions["b"] = parse_distribution("uniform,low=2,high=3");
  const Case c = generate_case("matmul", recipe);
  Random a(9, stream_of("a")), b(9, stream_of("b"));
  for (const double v : c.input("a").view().values()) {
    EXPECT_EQ(v, static_cast<double>(static_cast<float>(a.normal())));
  }
  for (const double v : c.input("b").view().values()) {
    EXPECT_EQ(v, static_cast<double>(static_cast<float>(2 + b.uniform())));
  }
  EXPECT_EQ(c.inputs.count("bias"), 0u);
  EXPECT_EQ(c.name, "matmul/float32/3x4x5/a_normal__b_uniform.low=2.high=3/seed9");
}

// Cases of one seed with other sizes and dtypes hold the same draws, rounded to their own dtype.
TEST(GenerateTest, DtypesOfASeedShareTheirDraws) {
  Recipe recipe = small();
  const Case wide = generate_case("matmul", recipe);
  recipe.dtype = &format_named("bfloat16");
  const Case narrow = generate_case("matmul", recipe);
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_NEAR(narrow.input("a").view().value_at(i), wide.input("a").view().value_at(i),
                std::abs(wide.input("a").view().value_at(i)) * 0x1p-8);
  }
}

TEST(GenerateTest, TransposesAreOfTheStoredInput) {
  Recipe recipe = small();
  recipe.sizes = {2, 3, 4, 5};
  recipe.attributes["transpose_a"] = std::int64_t{1};
  const Case c = generate_case("matmul", recipe);
  EXPECT_EQ(c.input("a").shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(c.input("b").shape(), (Shape{2, 4, 5}));
  EXPECT_EQ(golden_result(c).shape(), (Shape{2, 3, 5}));
}

// Tests hard inputs by their distributions: rows that almost overflow, and tiny variances far from
// 0.
TEST(GenerateTest, VectorOperatorsOnHardInputs) {
  Recipe recipe = small();
  recipe.sizes = {3, 517};
  recipe.distribution = parse_distribution("uniform,low=80,high=88");
  const Case softmax = generate_case("softmax", recipe);
  EXPECT_EQ(softmax.name, "softmax/float32/3x517/uniform.low=80.high=88/seed9");
  double sum = 0;
  for (const double y : golden_result(softmax).view().values()) sum += y;
  EXPECT_NEAR(sum, 3, 1e-14);
  recipe.distribution = parse_distribution("normal,mean=100,deviation=0.001");
  recipe.distributions["weight"] = parse_distribution("normal,mean=1");
  const Case layernorm = generate_case("layernorm", recipe);
  EXPECT_EQ(layernorm.input("weight").shape(), (Shape{517}));
  EXPECT_EQ(layernorm.inputs.count("bias"), 0u);
  EXPECT_EQ(emulate(layernorm, machine_named("hopper")).shape(), (Shape{3, 517}));
  recipe.distributions.clear();
  recipe.sizes = {2, 5, 7, 4};
  const Case attention = generate_case("attention", recipe);
  EXPECT_EQ(attention.input("q").shape(), (Shape{2, 5, 4}));
  EXPECT_EQ(attention.input("v").shape(), (Shape{2, 7, 4}));
}

TEST(GenerateTest, DotStartsFromItsOutputsDtype) {
  Recipe recipe = cases::small_recipe("dot", "int8");
  recipe.distribution = parse_distribution("integers,low=-128,high=127");
  const Case c = generate_case("dot", recipe);
  EXPECT_EQ(c.input("a").shape(), (Shape{3, 4}));
  EXPECT_EQ(c.input("c").shape(), (Shape{3}));
  EXPECT_EQ(c.input("c").format().name, "int32");
  EXPECT_EQ(golden_result(c).format().name, "int32");
}

// Codes and scales are those that quantize makes of the same draws. The test computes them by its
// definition, in float64.
TEST(GenerateTest, CodesAreDrawnBeforeTheyAreQuantized) {
  Recipe recipe;
  recipe.dtype = &format_named("float8_e4m3fn");
  recipe.sizes = {5, 300};
  recipe.seed = 3;
  recipe.attributes["scaling"] = std::string("1x128");
  const Case c = generate_case("dequantize", recipe);
  const Tensor &x = c.input("x"), &scale = c.input("scale");
  EXPECT_EQ(x.format().name, "float8_e4m3fn");
  ASSERT_EQ(scale.shape(), (Shape{5, 3}));
  const Tensor drawn = recipe.draw_input("x", format_named("float32"), {5, 300});
  for (std::int64_t row = 0; row < 5; ++row) {
    for (std::int64_t block = 0; block < 3; ++block) {
      double amax = 0;
      const std::int64_t end = std::min<std::int64_t>(block * 128 + 128, 300);
      for (std::int64_t j = block * 128; j < end; ++j) {
        amax = std::max(amax, std::abs(drawn.view().value_at(row * 300 + j)));
      }
      const double s = scale.view().value_at(row * 3 + block);
      EXPECT_NEAR(s, amax / 448, amax / 448 * 0x1p-24);
      double most = 0;
      for (std::int64_t j = block * 128; j < end; ++j) {
        const double code = x.view().value_at(row * 300 + j);
        most = std::max(most, std::abs(code));
        const double number = drawn.view().value_at(row * 300 + j);
        EXPECT_NEAR(code * s, number, std::abs(number) * 0.0626 + s * 0x1p-10);
      }
      EXPECT_EQ(most, 448);
    }
  }
  EXPECT_EQ(c.text("distribution"), "normal");
  EXPECT_EQ(c.text("why"),
            "scale: amax / 448 of each block 1x128; x: mean + deviation N(0, 1), quantized to "
            "float8_e4m3fn");
}

TEST(GenerateTest, ScalesThatAreNamedAreDrawn) {
  Recipe recipe;
  recipe.dtype = &format_named("int8");
  recipe.sizes = {4, 6};
  recipe.attributes["scaling"] = std::string("row");
  recipe.distributions["x"] = parse_distribution("integers,low=-128,high=127");
  recipe.distributions["scale"] = parse_distribution("uniform,low=1,high=2");
  const Case c = generate_case("dequantize", recipe);
  EXPECT_EQ(c.text("distribution"), "scale: uniform,low=1,high=2; x: integers,low=-128,high=127");
  const Tensor plain = recipe.draw_input("x", *recipe.dtype, {4, 6});
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(c.input("x").bits_at(i), plain.bits_at(i));
  EXPECT_EQ(c.input("scale").shape(), (Shape{4}));
  for (const double s : c.input("scale").view().values()) EXPECT_TRUE(s >= 1 && s < 2);
  recipe.dtype = &format_named("float32");
  recipe.distributions.erase("scale");
  EXPECT_EQ(refusal("dequantize", recipe),
            "dequantize: numbers are quantized to int8 or a float of at most 16 bits, not float32; "
            "give scale a distribution, and x is drawn as it is");
}

// The scales of b belong to its columns, whether b is transposed or not.
TEST(GenerateTest, ScaledProductsInEveryScaling) {
  for (const char* scaling : {"tensor", "row", "1x128", "128x128", "3x50"}) {
    for (const std::int64_t transposed : {0, 1}) {
      Recipe recipe;
      recipe.dtype = &format_named("float8_e4m3fn");
      recipe.sizes = {2, 5, 200, 7};
      for (const char* name : {"a_scaling", "b_scaling"}) {
        recipe.attributes[name] = std::string(scaling);
      }
      recipe.attributes["transpose_a"] = recipe.attributes["transpose_b"] = transposed;
      recipe.attributes["scales"] = std::string("power_of_two");
      recipe.distribution = parse_distribution("lognormal,sigma=1.5");
      const Case c = generate_case("scaled_matmul", recipe);
      // The quantized operands are near the drawn ones, and so is their product.
      Case wide;
      wide.name = "wide";
      wide.op = "matmul";
      wide.attributes["transpose_a"] = wide.attributes["transpose_b"] = transposed;
      for (const char* name : {"a", "b"}) {
        wide.inputs[name] = recipe.draw_input(name, format_named("float32"), c.input(name).shape());
      }
      const Tensor got = golden_result(c), near = golden_result(wide);
      ASSERT_EQ(got.shape(), (Shape{2, 5, 7}));
      for (std::int64_t i = 0; i < got.size(); ++i) {
        const double expected = near.view().value_at(i);
        EXPECT_NEAR(got.view().value_at(i), expected, expected * 0.14) << scaling;
      }
      for (const double s : c.input("scale_b").view().values()) {
        int exponent = 0;
        EXPECT_EQ(std::frexp(s, &exponent), 0.5);
      }
    }
  }
}

TEST(GenerateTest, RegionsLieAtWholeNumbersInsideTheImage) {
  Recipe recipe = cases::small_recipe("deform_roi_pool", "float32");
  recipe.sizes = {3, 1, 20, 31, 200};
  recipe.attributes["spatial_scale"] = 0.0625;
  const Case c = generate_case("deform_roi_pool", recipe);
  const std::vector<double> rois = c.input("rois").view().values();
  for (std::size_t i = 0; i < 200; ++i) {
    const double* box = rois.data() + i * 5;
    EXPECT_EQ(box[0], static_cast<double>(i % 3));
    for (const int d : {1, 2}) {
      EXPECT_EQ(box[d], std::floor(box[d]));
      EXPECT_EQ(box[d + 2], std::floor(box[d + 2]));
      EXPECT_TRUE(box[d] >= 0 && box[d] < box[d + 2] && box[d + 2] <= (d == 1 ? 31 : 20) * 16);
    }
  }
  EXPECT_EQ(c.inputs.count("offset"), 0u);
  EXPECT_EQ(c.text("distribution"), "normal");
  EXPECT_EQ(c.text("why"),
            "input: mean + deviation N(0, 1); rois: whole numbers inside the image, of each image "
            "in turn");

  recipe.distributions["rois"] = parse_distribution("uniform,low=-9,high=99");
  recipe.distributions["offset"] = parse_distribution("normal");
  const Case drawn = generate_case("deform_roi_pool", recipe);
  EXPECT_EQ(drawn.input("offset").shape(), (Shape{200, 2, 2, 3}));
  EXPECT_EQ(drawn.text("distribution"),
            "input: normal; offset: normal; rois: uniform,low=-9,high=99");
  const std::vector<double> boxes = drawn.input("rois").view().values();
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(boxes[i * 5], static_cast<double>(i % 3));
    EXPECT_LE(boxes[i * 5 + 1], boxes[i * 5 + 3]);
    EXPECT_LE(boxes[i * 5 + 2], boxes[i * 5 + 4]);
  }
  recipe.attributes.erase("pooled_width");
  EXPECT_EQ(refusal("deform_roi_pool", recipe),
            "case deform_roi_pool: deform_roi_pool needs the attribute pooled_width: PW, the "
            "number of bins of a "
            "region along w");
  recipe = cases::small_recipe("deform_roi_pool", "float32");
  recipe.attributes["spatial_scale"] = 20.0;
  EXPECT_EQ(refusal("deform_roi_pool", recipe),
            "deform_roi_pool: at spatial_scale 20 an image of 8 pixels holds no region of whole "
            "numbers; give rois a distribution");
}

// This test shows why regions lie at whole numbers. Only there does a second rounding move samples
// across a pixel (7 bins, scale 1/16: some 115 in a million). Between whole numbers it hardly ever
// does.
TEST(GenerateTest, RegionsAtWholeNumbersFlipPixels) {
  const auto flips_in_a_million = [](const char* distribution) {
    Recipe recipe;
    recipe.dtype = &format_named("float32");
    recipe.sizes = {1, 1, 64, 64, 3000};
    recipe.attributes = {{"pooled_height", std::int64_t{7}},
                         {"pooled_width", std::int64_t{7}},
                         {"spatial_scale", 0.0625}};
    if (distribution != nullptr) {
      recipe.distributions["rois"] = parse_distribution(distribution);
    }
    const Case c = generate_case("deform_roi_pool", recipe);
    const std::vector<float> once = deform_roi_coordinates(c, true),
                             twice = deform_roi_coordinates(c, false);
    std::int64_t flips = 0;
    for (std::size_t i = 0; i < once.size(); ++i) {
      flips += std::floor(once[i]) != std::floor(twice[i]) ? 1 : 0;
    }
    return 1e6 * static_cast<double>(flips) / static_cast<double>(once.size());
  };
  const double whole = flips_in_a_million(nullptr),
               between = flips_in_a_million("uniform,low=0,high=1024");
  EXPECT_GT(whole, 50);
  EXPECT_LT(whole, 300);
  EXPECT_LT(between, 5);
}

TEST(GenerateTest, Refuses) {
  Recipe recipe = small();
  EXPECT_EQ(refusal("external", recipe).substr(0, 64),
            "unknown operator 'external'; cases can be made for matmul, dot, ");
  EXPECT_EQ(refusal("softmaxx", recipe).substr(0, 53),
            "unknown operator 'softmaxx': did you mean 'softmax'?;");
  recipe.sizes = {4, 0};
  EXPECT_EQ(refusal("softmax", recipe),
            "softmax takes one size or more, each at least 1; given [4, 0]");
  EXPECT_EQ(
      refusal("attention", recipe),
      "attention takes sizes L,S,D of at least 1, batch dimensions before them; given [4, 0]");
  recipe.attributes["output_dtype"] = "int8";
  EXPECT_EQ(refusal("quantize", recipe),
            "quantize takes one size or more, each at least 1; given [4, 0]");
  EXPECT_EQ(refusal("dequantize", recipe),
            "dequantize takes one size or more, each at least 1; given [4, 0]");
  EXPECT_EQ(refusal("dot", recipe), "dot takes sizes n,K of at least 1; given [4, 0]");
  recipe.attributes = cases::small_recipe("deform_roi_pool").attributes;
  EXPECT_EQ(refusal("deform_roi_pool", recipe),
            "deform_roi_pool takes sizes N,C,H,W,n of at least 1; given [4, 0]");
  recipe.attributes.clear();
  recipe.sizes = {0, 3, 4, 5};
  EXPECT_EQ(refusal("scaled_matmul", recipe),
            "scaled_matmul takes sizes M,K,N of at least 1, batch dimensions before them; given "
            "[0, 3, 4, 5]");
  recipe.sizes = {3, 4};
  EXPECT_EQ(refusal("matmul", recipe),
            "matmul takes sizes M,K,N of at least 1, batch dimensions before them; given [3, 4]");
  recipe = small();
  recipe.distributions["c"] = parse_distribution("normal");
  EXPECT_EQ(refusal("matmul", recipe),
            "matmul has no input 'c': a (..., M, K), b (..., K, N), optional bias (N)");
  recipe = small();
  recipe.seed = ~std::uint64_t{0};
  EXPECT_EQ(refusal("matmul", recipe),
            "a case's seed must be below 2^63, not 18446744073709551615");
}

// Tests the ends of the range, where rounding errors are not relative to the value. A fresh
// machine's result is within the derived tolerance, or no tolerance is derived.
TEST(GenerateTest, DerivedTolerancesHoldAtTheEnds) {
  struct Way {
    const char *op, *dtype, *distribution;
    std::vector<std::int64_t> sizes;
    std::map<std::string, Attribute> attributes = {};
  };
  const std::string bf16 = "bfloat16", e4m3 = "float8_e4m3fn", fp16 = "float16", hopper = "hopper";
  const std::vector<Way> ways = {
      {"matmul", "float32", "normal,scale=1e-20", {8, 8, 8}},
      {"attention", "float32", "uniform,low=1e-45,high=1e-40", {3, 16, 7, 8}},
      {"attention", "float32", "normal,scale=1e-19", {2, 9, 7, 8}},
      {"dot", "float8_e4m3fn", "normal", {8, 128}, {{"machine", hopper}}},
      {"dot", "float8_e5m2", "normal", {2, 3}, {{"machine", hopper}}},
      {"dot", "bfloat16", "normal,scale=1e-20", {8, 40}},
      {"scaled_matmul",
       "float8_e4m3fn",
       "normal,scale=1e-3",
       {8, 8, 8},
       {{"output_dtype", fp16}, {"machine", hopper}}},
      {"scaled_matmul", "int8", "normal,scale=1e-18", {8, 8, 8}},
      {"quantize",
       "float32",
       "normal,scale=1e-6",
       {16, 16},
       {{"output_dtype", fp16}, {"result", std::string("scales")}, {"quantized_dtype", e4m3}}},
      {"quantize",
       "float32",
       "normal",
       {16, 16},
       {{"output_dtype", e4m3}, {"result", std::string("scales")}, {"quantized_dtype", e4m3}}},
  };
  for (const Way& way : ways) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Recipe recipe{&format_named(way.dtype), way.sizes, way.attributes};
      recipe.distribution = parse_distribution(way.distribution);
      recipe.seed = seed;
      const Case c = generate_case(way.op, recipe);
      for (const char* machine : {"ascend910b", "cpu_fma", "hopper"}) {
        const bool eight = std::string(way.dtype).starts_with("float8");
        if (eight != (machine == hopper) && way.op != std::string("quantize")) continue;
        if (way.dtype == std::string("int8") && machine == std::string("cpu_fma")) continue;
        EXPECT_EQ(cases::outside_tolerance(c, machine), 0)
            << machine << " " << way.op << " " << way.dtype << " " << way.distribution;
      }
    }
  }
}

TEST(GenerateTest, NoToleranceWhereNoneHolds) {
  const auto refusal = [](const char* op, const char* dtype, std::vector<std::int64_t> sizes,
                          const char* distribution, std::map<std::string, Attribute> attributes) {
    Recipe recipe{&format_named(dtype), std::move(sizes), std::move(attributes)};
    recipe.distribution = parse_distribution(distribution);
    return error_of([&] { derived_tolerance(generate_case(op, recipe)); });
  };
  const std::string bf16 = "bfloat16";
  EXPECT_THAT(refusal("dot", "float8_e4m3fn", {8, 128}, "normal", {}),
              HasSubstr("name the machine that computed them, as in machine=hopper"));
  EXPECT_THAT(refusal("scaled_matmul", "bfloat16", {8, 8, 8}, "normal", {}),
              HasSubstr("may overflow float32"));
  for (const char* output : {"hifloat8", "float8_e8m0fnu"}) {
    EXPECT_THAT(refusal("add", "bfloat16", {40}, "normal", {{"output_dtype", std::string(output)}}),
                HasSubstr("no tolerance can be derived for add with"));
  }
  EXPECT_THAT(
      refusal("quantize", "float32", {17, 7}, "normal,scale=1e-6", {{"output_dtype", bf16}}),
      HasSubstr("outside float32's normal numbers"));
}

}  // namespace
}  // namespace assay
