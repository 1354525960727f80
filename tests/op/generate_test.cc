#include "assay/op/generate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

#include "assay/base/random.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

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

// Every operator that makes cases makes some that it can compute, and others are named.
TEST(GenerateTest, EveryRowMakesCasesOrSaysThatItCannot) {
  for (const Operator& row : operators()) {
    if (row.generate != nullptr) {
      const Case c = generate_case(row.name, small());
      EXPECT_TRUE(is_case_name(c.name)) << c.name;
      EXPECT_GT(golden_result(c).size(), 0) << row.name;
    } else {
      const std::string text = refusal(row.name, small());
      const std::string start =
          "no cases of '" + std::string(row.name) + "' can be made; of matmul";
      EXPECT_EQ(text.substr(0, start.size()), start);
      EXPECT_EQ(text.substr(text.size() - 8), "they can");
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

// Other sizes and dtypes of a seed hold the same draws, rounded otherwise.
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

// Hard inputs by their distributions: rows that all but overflow, and tiny variances far from 0.
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

TEST(GenerateTest, Refuses) {
  Recipe recipe = small();
  EXPECT_EQ(refusal("external", recipe).substr(0, 64),
            "unknown operator 'external'; cases can be made of matmul, add, s");
  EXPECT_EQ(refusal("softmaxx", recipe).substr(0, 53),
            "unknown operator 'softmaxx': did you mean 'softmax'?;");
  recipe.sizes = {4, 0};
  EXPECT_EQ(refusal("softmax", recipe),
            "softmax takes one size or more, each at least 1; given [4, 0]");
  EXPECT_EQ(
      refusal("attention", recipe),
      "attention takes sizes L,S,D of at least 1, batch dimensions before them; given [4, 0]");
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

}  // namespace
}  // namespace assay
