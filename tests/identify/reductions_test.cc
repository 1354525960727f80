// Tests recorded reductions and functions of each element, through identify() itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/datasets/store/dataset_file.h"
#include "identify/computed.h"

namespace assay::identify {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Case h200_sums(const char* name) {
  return DatasetFile(ASSAY_SOURCE_DIR "/datasets/samples/triton_sums.h5").read(name);
}

// Returns a case that sums each row of x.
Case sums_of_rows(Tensor x) {
  Case c;
  c.name = "sums";
  c.op = "reduce_sum";
  c.inputs["x"] = std::move(x);
  c.attributes = {{"axis", std::int64_t{1}}, {"output_dtype", std::string("float32")}};
  return c;
}

// No machine's own order gives these sums, but the tree of Triton's kernel does, on any vector
// unit.
TEST(IdentifyReductions, ATreeOfAKernel) {
  const Case c = h200_sums("block/float16/256");
  const Finding f = identified({c}, true).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_EQ(attribute_text(f.parameters.at("lanes")), "128");
  EXPECT_EQ(attribute_text(f.parameters.at("warp")), "32");
  EXPECT_EQ(attribute_text(f.parameters.at("vector")), "2");
  EXPECT_EQ(f.fits, 1u);
  EXPECT_EQ(f.agree, 64);
  EXPECT_EQ(f.of, 64);
  EXPECT_FALSE(f.is_row);
  EXPECT_EQ(computed_again(c, f), 64);
  std::vector<std::string> weighed;
  for (const Evidence& e : f.evidence) weighed.push_back(e.parameter);
  EXPECT_THAT(weighed, testing::IsSupersetOf({"lanes", "vector", "warp", "sum_dtype"}));
}

// float32 sums recorded in float16 leave many trees possible. The finding names a few of them.
TEST(IdentifyReductions, RoundedSumsLeaveManyTrees) {
  const Finding f = identified({h200_sums("rows/float16/1000")}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kUndecided);
  EXPECT_FALSE(f.rivals.empty());
  EXPECT_LE(f.rivals.size(), 8u);
}

TEST(IdentifyReductions, OneSumIsTooFew) {
  Random random(11, 0);
  Case c = sums_of_rows(normal_values(random, "float32", {1, 64}));
  c.attributes["order"] = std::string("sequential");
  c.output().recorded["device"].tensor = emulate(c, machine_named("cpu_fma"), 1);
  const Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kUndecided);
  EXPECT_THAT(f.note, HasSubstr("1 sums are too few "));
  EXPECT_EQ(f.agree, 1);
}

// Rows that are too long for a search of trees are tried with the orders of the table. A note says
// so.
TEST(IdentifyReductions, LongRowsAreTriedByTheOrdersOfTheTable) {
  Random random(12, 0);
  Case c = sums_of_rows(normal_values(random, "float32", {4, (1 << 16) + 1}));
  c.attributes["order"] = std::string("sequential");
  c.output().recorded["device"].tensor = emulate(c, machine_named("cpu_fma"), 1);
  const Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_EQ(attribute_text(f.parameters.at("order")), "sequential");
  EXPECT_EQ(f.note,
            "the summation trees of kernels were not searched: orders of summation can be searched "
            "only for sums of 2 to 65536 numbers, not of 65537");
}

// One of 40 sums is an ulp off. The finding names the nearest order, and the place and size of the
// difference.
TEST(IdentifyReductions, AWrongSumIsExplainedByNothing) {
  Random random(13, 0);
  Case c = sums_of_rows(normal_values(random, "float16", {40, 48}));
  c.attributes["order"] = std::string("pairwise");
  c.output().recorded["device"].tensor = emulate(c, machine_named("ascend910b"), 1);
  c.attributes.erase("order");
  Tensor& output = c.output().recorded.at("device").tensor;
  // The sums are float16 values in a float32 tensor. A sum that is an ulp of float32 off is not
  // such a value.
  output.set_bits(7, output.bits_at(7) + 1);
  const Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kNone);
  EXPECT_EQ(f.agree, 39);
  EXPECT_EQ(f.of, 40);
  EXPECT_EQ(f.largest_ulps, 1u);
  EXPECT_EQ(f.first, (std::vector<std::int64_t>{7}));
}

// A mean over a power of two keeps all bits of the sum. Other means lose some of them.
TEST(IdentifyReductions, MeansAreExplained) {
  Random random(15, 0);
  const std::map<std::string, Attribute> tree = {
      {"order", std::string("lanes")}, {"lanes", std::int64_t{32}}, {"vector", std::int64_t{2}}};
  for (const std::int64_t n : {256, 200}) {
    Case c = sums_of_rows(normal_values(random, "float32", {48, n}));
    c.op = "reduce_mean";
    Case asked = c;
    for (const auto& [name, value] : tree) asked.attributes[name] = value;
    c.output().recorded["device"].tensor = emulate(asked, machine_named("cpu_fma"), 1);
    const Finding f = identified({c}).at(0);
    if (n == 200) {
      EXPECT_EQ(f.outcome, Outcome::kNone);
      EXPECT_EQ(
          f.note,
          "the summation trees of kernels were not searched: a mean of 200 numbers hides the last "
          "bits of their sum; record means of 2, 4, 8 or another power of two of numbers");
      continue;
    }
    EXPECT_EQ(f.outcome, Outcome::kFound);
    EXPECT_EQ(attribute_text(f.parameters.at("lanes")), "32");
    EXPECT_EQ(attribute_text(f.parameters.at("vector")), "2");
    EXPECT_EQ(computed_again(c, f), 48);
    EXPECT_THAT(f.sentence, StartsWith("Means by 32 lanes that take 2 elements at a time"));
  }
}

TEST(IdentifyReductions, Float64SumsAreExplained) {
  Random random(16, 0);
  Case c = sums_of_rows(normal_values(random, "float64", {48, 100}));
  c.attributes["output_dtype"] = std::string("float64");
  c.attributes["order"] = std::string("sequential");
  c.output().recorded["device"].tensor = emulate(c, machine_named("cpu_fma"), 1);
  const Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_EQ(attribute_text(f.parameters.at("order")), "sequential");
  EXPECT_EQ(f.sentence, "Sums by adding one after the other.");
}

TEST(IdentifyReductions, WhatNoVectorUnitSumsIsNamed) {
  Case c = sums_of_rows(Tensor(format_named("float8_e4m3fn"), {4, 8}));
  c.output().recorded["device"].tensor = Tensor(format_named("float32"), {4});
  EXPECT_EQ(identified({c}).at(0).why, "no machine's vector unit sums float8_e4m3fn");
}

TEST(IdentifyElements, AFunctionOfEachElement) {
  Random random(14, 0);
  Case c;
  c.name = "exponentials";
  c.op = "exp";
  c.inputs["x"] = normal_values(random, "float16", {300});
  c.output().recorded["device"].tensor = emulate(c, machine_named("ascend910b"), 1);
  Finding f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kFound);
  EXPECT_EQ(f.agree, 300);
  EXPECT_TRUE(f.function.has_value());
  EXPECT_EQ(computed_again(c, f), 300);
  EXPECT_THAT(f.function_lines, StartsWith("exponentials: found of 300 elements\n"));
  // Half of the results are now far from the function.
  Tensor& output = c.output().recorded.at("device").tensor;
  for (std::int64_t i = 0; i < 300; i += 2) output.set_bits(i, 0);
  f = identified({c}).at(0);
  EXPECT_EQ(f.outcome, Outcome::kNone);
  EXPECT_EQ(f.agree, 150);
  EXPECT_EQ(f.first, (std::vector<std::int64_t>{0}));
  EXPECT_THAT(f.function_lines, StartsWith("exponentials: none of 300 elements\n"));
}

TEST(IdentifyElements, WhatIsTakenIsListed) {
  EXPECT_THAT(
      identifiable_operators(),
      testing::ElementsAre("matmul", "dot", "scaled_matmul", "reduce_sum", "reduce_mean", "exp",
                           "log", "sqrt", "rsqrt", "tanh", "sigmoid", "silu", "gelu"));
}

}  // namespace
}  // namespace assay::identify
