#include "assay/cases/case.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/op/operator.h"
#include "error_of.h"

namespace assay {
namespace {

Case example() {
  Case c;
  c.name = "matmul/one";
  c.op = "matmul";
  c.attributes = {{"text", "words"},
                  {"whole", std::int64_t{7}},
                  {"real", 0.5},
                  {"round", 3.0},
                  {"huge", 1e300},
                  {"one", std::int64_t{1}},
                  {"zero", 0.0},
                  {"yes", "true"},
                  {"no", "false"},
                  {"digit", "1"},
                  {"tags", "slow,nightly"},
                  {"minus", std::int64_t{-1}}};
  return c;
}

Tensor tensor(const char* format) {
  return Tensor::from_values(format_named(format), {1}, std::vector<double>{1});
}

TEST(AttributeTest, Text) {
  EXPECT_EQ(attribute_text(std::int64_t{-5}), "-5");
  EXPECT_EQ(attribute_text(0.1), "0.1");
  EXPECT_EQ(attribute_text(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(attribute_text(std::string("a b")), "a b");
}

TEST(CaseTest, AttributesByType) {
  const Case c = example();
  EXPECT_EQ(c.text("text"), "words");
  EXPECT_EQ(c.integer("whole"), 7);
  EXPECT_EQ(c.integer("round"), 3);  // a whole real number serves as an integer
  EXPECT_EQ(c.real("real"), 0.5);
  EXPECT_EQ(c.real("whole"), 7.0);  // an integer serves as a real number
  EXPECT_EQ(c.text("absent"), std::nullopt);
  EXPECT_EQ(c.integer("absent"), std::nullopt);
  EXPECT_EQ(c.real("absent"), std::nullopt);
  EXPECT_EQ(c.flag("absent"), std::nullopt);
}

TEST(CaseTest, Flags) {
  const Case c = example();
  EXPECT_EQ(c.flag("one"), true);
  EXPECT_EQ(c.flag("zero"), false);
  EXPECT_EQ(c.flag("yes"), true);
  EXPECT_EQ(c.flag("no"), false);
  EXPECT_EQ(c.flag("digit"), true);
}

TEST(CaseTest, AWrongTypeNamesCaseAndAttribute) {
  const Case c = example();
  EXPECT_EQ(error_of([&] { c.text("whole"); }),
            "case matmul/one: attribute 'whole' must be a string, but it is '7'");
  EXPECT_EQ(error_of([&] { c.integer("text"); }),
            "case matmul/one: attribute 'text' must be an integer, but it is 'words'");
  EXPECT_EQ(error_of([&] { c.integer("real"); }),
            "case matmul/one: attribute 'real' must be an integer, but it is '0.5'");
  EXPECT_EQ(error_of([&] { c.integer("huge"); }),
            "case matmul/one: attribute 'huge' must be an integer, but it is '1e+300'");
  EXPECT_EQ(error_of([&] { c.real("text"); }),
            "case matmul/one: attribute 'text' must be a number, but it is 'words'");
  EXPECT_EQ(error_of([&] { c.flag("minus"); }),
            "case matmul/one: attribute 'minus' must be 0 or 1, but it is '-1'");
  EXPECT_EQ(error_of([&] { c.flag("text"); }),
            "case matmul/one: attribute 'text' must be 0 or 1, but it is 'words'");
}

TEST(CaseTest, NanAndInfinityAreNoIntegers) {
  Case c = example();
  for (const double v :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    c.attributes["special"] = v;
    EXPECT_THROW(c.integer("special"), std::invalid_argument);
    EXPECT_THROW(c.flag("special"), std::invalid_argument);
  }
}

TEST(CaseTest, Tags) {
  EXPECT_EQ(example().tags(), (std::vector<std::string>{"slow", "nightly"}));
  EXPECT_TRUE(Case().tags().empty());
}

TEST(CaseTest, Inputs) {
  Case c = example();
  EXPECT_EQ(error_of([&] { c.input("a"); }),
            "case matmul/one: matmul needs the input 'a'; its inputs are (none)");
  c.inputs["b"] = tensor("float32");
  c.inputs["bias"] = tensor("float16");
  EXPECT_EQ(c.input("b").format().name, "float32");
  EXPECT_EQ(error_of([&] { c.input("a"); }),
            "case matmul/one: matmul needs the input 'a'; its inputs are b, bias");
  c.op.clear();
  EXPECT_EQ(error_of([&] { c.input("a"); }),
            "case matmul/one: the operator needs the input 'a'; its inputs are b, bias");
}

TEST(CaseTest, Golden) {
  Case c = example();
  EXPECT_EQ(error_of([&] { c.golden_tensor(); }),
            "case matmul/one has no golden result; compute one from its inputs");
  c.output().golden = tensor("float64");
  EXPECT_EQ(c.golden_tensor().format().name, "float64");
}

TEST(CaseTest, OutputFormatFollowsTheFirstInput) {
  const struct {
    const char *op, *input, *expected;
  } rules[] = {{"matmul", "float16", "float16"},           {"matmul", "bfloat16", "bfloat16"},
               {"matmul", "float32", "float32"},           {"matmul", "int8", "int32"},
               {"matmul", "float8_e4m3fn", "float32"},     {"matmul", "float8_e5m2", "float32"},
               {"matmul", "hifloat8", "float32"},          {"softmax", "int8", "int8"},
               {"softmax", "bfloat16", "bfloat16"},        {"scaled_matmul", "int8", "float32"},
               {"scaled_matmul", "float_e5m6", "float32"}, {"dequantize", "int8", "float32"}};
  for (const auto& [op, input, expected] : rules) {
    Case c;
    c.op = op;
    c.inputs["a"] = tensor(input);
    // This name comes first in the alphabet, but is not the operator's first input.
    c.inputs["Z"] = tensor("float64");
    EXPECT_EQ(output_format(c).name, expected) << op << " " << input;
  }
}

TEST(CaseTest, OutputFormatOfInputsThatWereNotRead) {
  Case c;
  c.op = "matmul";
  c.unread_inputs["a"] = &format_named("int8");
  EXPECT_EQ(output_format(c).name, "int32");
  c.inputs["a"] = tensor("bfloat16");  // inputs that were read come first
  EXPECT_EQ(output_format(c).name, "bfloat16");
  Case other;
  other.op = "softmax";
  other.unread_inputs["logits"] = &format_named("float16");
  EXPECT_EQ(output_format(other).name, "float16");
}

TEST(CaseTest, OutputFormatByAttributeOrGolden) {
  Case c = example();
  c.output().golden = tensor("float64");
  EXPECT_EQ(output_format(c).name, "float64");
  c.inputs["a"] = tensor("float16");
  EXPECT_EQ(output_format(c).name, "float16");
  c.attributes["output_dtype"] = "bfloat16";
  EXPECT_EQ(output_format(c).name, "bfloat16");
  c.attributes["output_dtype"] = "float17";
  EXPECT_EQ(error_of([&] { output_format(c); }),
            "case matmul/one: output_dtype 'float17' is no dtype that assay knows; docs/formats.md "
            "lists all");
  c.attributes["output_dtype"] = "bf16";
  EXPECT_EQ(output_format(c).name, "bfloat16");
  EXPECT_THROW(output_format(Case()), std::invalid_argument);
}

TEST(CaseNameTest, PartsAndLetters) {
  for (const char* name : {"a", "matmul/fp16", "a/b/c_1", "K=64", "v1.2/x", "...", "A-B"}) {
    EXPECT_EQ(is_case_name(name), std::string(name) != "A-B") << name;
  }
  for (const char* name : {"", "/", "/a", "a/", "a//b", "a b", "a/b*", "a/inputs", "golden",
                           "outputs/x", ".", "..", "a/../b", "caf\xc3\xa9", "a:b", "a\n"}) {
    EXPECT_FALSE(is_case_name(name)) << name;
  }
  EXPECT_TRUE(is_case_name("inputs2/golden_x"));
}

}  // namespace
}  // namespace assay
