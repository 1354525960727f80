// Finds, only from the output, the parameters that a case may give beside its machine: how K is
// divided, what operands are converted to, where a bias and scales enter, and the last rounding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "error_of.h"
#include "identify/computed.h"

namespace assay::identify {
namespace {

using Parameters = std::map<std::string, Attribute>;
using testing::HasSubstr;

std::string line_of(const Finding& f) {
  std::string line = formatted("{} {}", outcome_word(f.outcome), f.model);
  for (const auto& [name, value] : f.parameters) {
    line += formatted(" {}={}", name, attribute_text(value));
  }
  return line;
}

Attribute word(const char* text) { return std::string(text); }
Attribute number(std::int64_t value) { return value; }

TEST(IdentifyParameters, OrdersOfPartsOfK) {
  const struct {
    Parameters asked;
    const char* found;
  } kWays[] = {
      {{{"split_k", number(32)}, {"split_order", word("descending")}},
       "found hopper split_k=32 split_order=descending"},
      {{{"split_k", number(16)}, {"split_order", word("pairwise")}},
       "found hopper split_k=16 split_order=pairwise"},
      {{{"split_k", number(40)}, {"split_first", number(24)}},
       "found hopper split_first=24 split_k=40"},
      {{{"split_k", number(16)}, {"split_parts", number(3)}},
       "found hopper split_k=16 split_parts=3"},
      {{{"split_k", number(99)}, {"split_first", number(29)}},
       "found hopper split_first=29 split_k=99"},
  };
  for (const auto& way : kWays) {
    const Case c = computed("hopper", "bfloat16", 16, 128, 16, way.asked);
    const Finding f = identified({c}).at(0);
    EXPECT_EQ(line_of(f), way.found);
    EXPECT_EQ(computed_again(c, f), 256);
  }
}

// If the sums of parts are rounded to 16 bits, a result of 16 bits shows it.
TEST(IdentifyParameters, PartsInTheFormatOfTheOutput) {
  const Case c = computed("hopper", "float16", 32, 128, 32,
                          {{"output_dtype", word("float16")},
                           {"split_k", number(32)},
                           {"split_dtype", word("float16")},
                           {"split_sum_dtype", word("float16")}});
  const Finding f = identified({c}).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone);
  EXPECT_EQ(attribute_text(f.parameters.at("split_k")), "32");
  EXPECT_EQ(computed_again(c, f), 1024);
  // Without the roundings of the parts, the product is another one.
  Finding plain = f;
  plain.parameters = {{"split_k", number(32)}};
  EXPECT_LT(computed_again(c, plain), 1000);
}

TEST(IdentifyParameters, ConversionsOfOperands) {
  const struct {
    Parameters asked;
    const char* found;
  } kWays[] = {
      {{{"compute_dtype", word("tfloat32")}}, "found hopper compute_dtype=tfloat32"},
      {{{"compute_dtype", word("tfloat32")}, {"compute_rounding", word("toward_zero")}},
       "found hopper compute_dtype=tfloat32 compute_rounding=toward_zero"},
      {{{"compute_dtype", word("bfloat16")}, {"compute_terms", number(2)}},
       "found hopper compute_dtype=bfloat16 compute_terms=2"},
  };
  for (const auto& way : kWays) {
    const Case c = computed("hopper", "float32", 16, 64, 16, way.asked);
    const Finding f = identified({c}, true).at(0);
    EXPECT_EQ(line_of(f), way.found);
    EXPECT_EQ(computed_again(c, f), 256);
    EXPECT_THAT(f.evidence, testing::Contains(testing::Field(&Evidence::parameter,
                                                             testing::StrEq("compute_dtype"))));
  }
}

TEST(IdentifyParameters, TheLastRoundingAndTheOneBeforeABias) {
  const Parameters cut = {{"output_dtype", word("bfloat16")},
                          {"output_rounding", word("toward_zero")}};
  Case c = computed("hopper", "bfloat16", 32, 64, 32, cut);
  Finding f = identified({c}, true).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone);
  EXPECT_EQ(attribute_text(f.parameters.at("output_rounding")), "toward_zero");
  EXPECT_EQ(computed_again(c, f), 1024);
  c = computed(
      "hopper", "bfloat16", 32, 64, 32,
      {{"with_bias", 1}, {"output_dtype", word("bfloat16")}, {"round_before_bias", number(1)}});
  f = identified({c}).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone);
  EXPECT_EQ(attribute_text(f.parameters.at("round_before_bias")), "1");
  EXPECT_EQ(computed_again(c, f), 1024);
}

Case dots(const char* dtype, const char* sums, std::int64_t n, std::int64_t k) {
  Random random(7, 0);
  Case c;
  c.name = "dots";
  c.op = "dot";
  c.inputs["a"] = normal_values(random, dtype, {n, k});
  c.inputs["b"] = normal_values(random, dtype, {n, k});
  c.inputs["c"] = normal_values(random, sums, {n});
  c.attributes["output_dtype"] = std::string(sums);
  return c;
}

TEST(IdentifyParameters, DotProducts) {
  Case c = computed_by("hopper", dots("bfloat16", "float32", 200, 64));
  Finding f = identified({c}, true).at(0);
  EXPECT_EQ(line_of(f), "found hopper");
  EXPECT_TRUE(f.is_row);
  c = dots("bfloat16", "float32", 200, 96);
  c.attributes["promotion_interval"] = number(32);
  c = computed_by("hopper", c);
  f = identified({c}).at(0);
  EXPECT_THAT(line_of(f), testing::EndsWith(" hopper promotion_interval=32"));
  EXPECT_EQ(computed_again(c, f), 200);
  // If c and the result are float16, so is the accumulator. The last rounding is then not in
  // question.
  c = computed_by("hopper", dots("float16", "float16", 400, 64));
  f = identified({c}, true).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone);
  EXPECT_EQ(computed_again(c, f), 400);
  for (const Evidence& e : f.evidence) {
    EXPECT_NE(e.parameter, "rounding");
    EXPECT_NE(e.parameter, "accumulator");
    EXPECT_NE(e.parameter, "mantissa_bits");
  }
}

Case scaled(const char* a_scaling, const char* b_scaling, Shape a_scales, Shape b_scales) {
  Random random(8, 0);
  Case c;
  c.name = "scaled";
  c.op = "scaled_matmul";
  c.inputs["a"] = normal_values(random, "float8_e4m3fn", {16, 64});
  c.inputs["b"] = normal_values(random, "float8_e4m3fn", {64, 16});
  const auto scales = [&](Shape shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      values.push_back(std::exp2(random.normal()));
    }
    return Tensor::from_values(format_named("float32"), std::move(shape), values);
  };
  c.inputs["scale_a"] = scales(std::move(a_scales));
  c.inputs["scale_b"] = scales(std::move(b_scales));
  c.attributes = {{"a_scaling", word(a_scaling)}, {"b_scaling", word(b_scaling)}};
  return c;
}

TEST(IdentifyParameters, ScaledProducts) {
  Case blocks = scaled("1x32", "32x32", {16, 2}, {2, 1});
  const struct {
    const char* order;
    std::int64_t fused;
  } kWays[] = {{"together", 1}, {"a_first", 0}, {"b_first", 1}};
  for (const auto& [order, fused] : kWays) {
    Case c = blocks;
    c.attributes["scale_order"] = word(order);
    c.attributes["fused"] = number(fused);
    c = computed_by("hopper", c);
    const Finding f = identified({c}).at(0);
    EXPECT_NE(f.outcome, Outcome::kNone) << order << " " << fused;
    EXPECT_EQ(attribute_text(f.parameters.at("fused")), formatted("{}", fused));
    const auto found = f.parameters.find("scale_order");
    EXPECT_EQ(found == f.parameters.end() ? "together" : attribute_text(found->second), order);
    EXPECT_EQ(computed_again(c, f), 256);
  }
  // There is one scale for all of K, so that there is nothing to fuse and no multiplication comes
  // between sums.
  const Case rows = computed_by("hopper", scaled("row", "row", {16}, {16}));
  const Finding f = identified({rows}, true).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone);
  EXPECT_EQ(f.parameters.count("fused"), 0u);
  EXPECT_EQ(computed_again(rows, f), 256);
}

// A batch of matrices `a` with the same `b`. Both operands are stored transposed.
TEST(IdentifyParameters, BatchesOfProducts) {
  Random random(9, 0);
  Case c;
  c.name = "batches";
  c.op = "matmul";
  c.inputs["a"] = normal_values(random, "float16", {3, 64, 8});
  c.inputs["b"] = normal_values(random, "float16", {12, 64});
  c.attributes = {
      {"transpose_a", number(1)}, {"transpose_b", number(1)}, {"output_dtype", word("float32")}};
  c = computed_by("ascend910b", c);
  Finding f = identified({c}).at(0);
  EXPECT_EQ(f.elements, 3 * 8 * 12);
  EXPECT_NE(f.outcome, Outcome::kNone) << line_of(f);
  EXPECT_EQ(computed_again(c, f), f.elements);
  c.inputs["b"] = normal_values(random, "float16", {3, 12, 64});
  c = computed_by("ascend910b", c);
  f = identified({c}).at(0);
  EXPECT_NE(f.outcome, Outcome::kNone) << line_of(f);
  EXPECT_EQ(computed_again(c, f), f.elements);
}

TEST(IdentifyParameters, WhatIsNoSumOfFloatsIsNamed) {
  const auto why = [](const Case& c) { return identified({c}).at(0).why; };
  const Case good = computed("hopper", "float16", 4, 16, 4);
  Case c = good;
  c.inputs["a"] = Tensor(format_named("int8"), {4, 16});
  EXPECT_EQ(why(c), "identify explains sums of floats, not of int8");
  c = good;
  c.inputs["b"] = Tensor(format_named("float64"), {16, 4});
  EXPECT_EQ(why(c), "identify explains sums of values that float32 holds, not of float64");
  c = good;
  c.inputs["a"] = Tensor(format_named("complex64"), {4, 16});
  EXPECT_EQ(why(c), "identify explains sums of floats, not of complex64");
  c = good;
  c.output().recorded["device"].tensor = Tensor(format_named("float32"), {4, 5});
  EXPECT_EQ(why(c), "the output of device is float32 [4, 5], which does not fit this case");
  c = good;
  c.output().recorded["device"].tensor = Tensor(format_named("float16"), {4, 4});
  EXPECT_EQ(why(c), "the output of device is float16 [4, 4], which does not fit this case");
  c = computed_by("hopper", dots("bfloat16", "float32", 4, 16));
  c.inputs["c"] = Tensor(format_named("float32"), {5});
  EXPECT_EQ(why(c), "a, b and c do not fit; dot takes [n, K], [n, K] and [n]");
}

// An empty product has no terms to sum, so that it shows nothing.
TEST(IdentifyParameters, EmptyProductsTellNothing) {
  const Case none = computed("hopper", "float16", 0, 16, 4);
  const Finding f = identified({none}, true).at(0);
  EXPECT_EQ(f.elements, 0);
  EXPECT_NE(f.outcome, Outcome::kFound);
}

}  // namespace
}  // namespace assay::identify
