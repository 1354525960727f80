// A team's own operators: which may be registered, who then knows them, and the checks of their
// results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "cases.h"

namespace assay {
namespace {

using cases::error_of;
using testing::HasSubstr;

std::vector<double> doubled(const Case& c) {
  std::vector<double> values = c.input("x").view().values();
  for (double& v : values) v *= 2;
  return values;
}

Tensor run_twice(const Call& call) {
  return Tensor::from_values(call.output, call.test_case.input("x").shape(),
                             doubled(call.test_case));
}

// The number of calls of a reference.
std::atomic<int> asked = 0;

Tensor twice_reference(const ReferenceCall& call) {
  ++asked;
  return Tensor::from_values(call.output, call.test_case.input("x").shape(),
                             doubled(call.test_case));
}

DerivedTolerance twice_tolerance(const Case&) { return {0.25, 0.5, "because"}; }

void generate_twice(const Recipe& recipe, Case& c) {
  c.inputs["x"] =
      recipe.draw_input("x", *recipe.dtype, Shape(recipe.sizes.begin(), recipe.sizes.end()));
  c.inputs["a_scale"] = Tensor::from_values(format_named("float64"), {}, std::vector<double>{1});
}

// The whole program shares one table. So each test has an operator of its own, because any test may
// be the first to use the table.
Operator twice(std::string_view name) {
  return {.name = std::string(name),
          .inputs = {{.name = "x", .shape = "(...)"}, {.name = "a_scale"}},
          .parameters = {{.name = "axis", .kind = ParameterKind::kInteger}},
          .run = run_twice,
          .reference = twice_reference,
          .tolerance = twice_tolerance};
}

Case case_of(const char* op, const char* dtype = "float16", Shape shape = {2, 3}) {
  Case c;
  c.name = "t";
  c.op = op;
  c.inputs["x"] = cases::integer_tensor(dtype, shape, 1);
  return c;
}

TEST(RegisterTest, ARegisteredOperatorIsKnownEverywhere) {
  const Operator* const matmul = find_operator("matmul");
  const std::span<const Operator> before = operators();
  const std::size_t count = before.size();
  {
    // The table keeps its own copy of the texts, so that the row may change afterwards.
    Operator row = twice("twice_known");
    row.generate = generate_twice;
    register_operator(row);
    row.name = row.inputs[0].name = row.parameters[0].name = std::string(40, '#');
  }
  for (int i = 0; i < 300; ++i) {
    const std::string name = "twice_filler_" + std::to_string(i);
    register_operator(twice(name));
  }
  ASSERT_EQ(operators().size(), count + 301);
  EXPECT_EQ(before.data(), operators().data());
  EXPECT_EQ(find_operator("matmul"), matmul);
  const Operator* const row = find_operator("twice_known");
  ASSERT_EQ(row, &operators()[count]);
  EXPECT_EQ(inputs_text(*row), "x (...), a_scale");
  ASSERT_EQ(row->parameters.size(), 1u);
  EXPECT_EQ(row->parameters[0].name, "axis");

  const Case c = generate_case("twice_known", {&format_named("bfloat16"), {4, 5}});
  EXPECT_EQ(c.name, "twice_known/bfloat16/4x5/normal/seed0");
  EXPECT_EQ(emulate(c, machine_named("ascend910b")).format().name, "bfloat16");
  EXPECT_EQ(golden_result(c).format().name, "float64");
  EXPECT_EQ(golden_result(c).view().values(), doubled(c));
  EXPECT_EQ(derived_tolerance(c).rtol, 0.25);
  EXPECT_THAT(error_of([] {
                generate_case("twice_knwn", {&format_named("float16"), {1}});
              }),
              HasSubstr("unknown operator 'twice_knwn': did you mean 'twice_known'?"));
  EXPECT_THAT(error_of([] { emulate(case_of("twice_knwn"), machine_named("exact")); }),
              HasSubstr("case t: assay does not emulate the operator 'twice_knwn' (did you mean "
                        "'twice_known'?); it emulates matmul, "));
  Case wrong = c;
  wrong.attributes["axes"] = std::int64_t{1};
  EXPECT_THAT(error_of([&] { golden_result(wrong); }),
              HasSubstr("twice_known does not know the parameter 'axes': did you mean 'axis'?; it "
                        "knows axis"));
}

// One thread registers while others look up rows and compute.
TEST(RegisterTest, WhileOthersUseTheTable) {
  register_operator(twice("twice_while"));
  const Case c = case_of("twice_while", "float16", {2, 3});
  const std::vector<double> expected = golden_result(c).view().values();
  std::atomic<bool> done = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      do {
        for (const Operator& row : operators()) ASSERT_EQ(find_operator(row.name), &row);
        ASSERT_EQ(golden_result(c).view().values(), expected);
      } while (!done);
    });
  }
  for (int i = 0; i < 100; ++i) register_operator(twice("twice_meanwhile_" + std::to_string(i)));
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_NE(find_operator("twice_meanwhile_99"), nullptr);
}

TEST(RegisterTest, WhatCannotBeRegisteredIsSaid) {
  const std::size_t count = operators().size();
  const auto error = [](Operator row) { return error_of([&] { register_operator(row); }); };
  EXPECT_EQ(error(twice("")), "an operator to register needs a name");
  for (const char* name :
       {"2x", "_twice", "swi glu", "a/b", "swi-glu", "zwölf", "inputs", "outputs", "golden"}) {
    EXPECT_EQ(error(twice(name)),
              "the operator name '" + std::string(name) +
                  "' cannot be used; a name has letters, digits and underscores, begins with a "
                  "letter, and is not inputs, outputs or golden");
  }
  EXPECT_EQ(error(twice("silu")),
            "the operator 'silu' cannot be registered: assay has one of that name");
  Operator row = twice("twice_incomplete");
  row.run = nullptr;
  EXPECT_EQ(error(row), "the operator 'twice_incomplete' cannot be registered: it has no `run`");
  row = twice("twice_incomplete");
  row.reference = nullptr;
  EXPECT_EQ(error(row),
            "the operator 'twice_incomplete' cannot be registered: it has no `reference`; a golden "
            "result never comes from the code under test");
  row = twice("twice_incomplete");
  row.inputs.clear();
  EXPECT_EQ(error(row),
            "the operator 'twice_incomplete' cannot be registered: `inputs` is empty; name each "
            "input and its shape, as in "
            "{{\"x\", \"(...)\"}, {\"gate\", \"(...)\"}}");
  EXPECT_EQ(operators().size(), count);
  register_operator(twice("twice_again"));
  EXPECT_EQ(error(twice("twice_again")),
            "the operator 'twice_again' cannot be registered: it is registered already");
  EXPECT_EQ(operators().size(), count + 1);
}

// The first input of the row, x, gives the output's dtype. `a_scale` comes first by name, and
// assay's own rule looks for an input a, but neither counts.
TEST(RegisterTest, TheFirstInputNamedSaysTheOutputDtype) {
  register_operator(twice("twice_first"));
  Case c = case_of("twice_first");
  c.inputs["a_scale"] = cases::integer_tensor("float64", {}, 2);
  c.inputs["a"] = cases::integer_tensor("int8", {1}, 2);
  EXPECT_EQ(output_format(c).name, "float16");
  c.inputs["x"] = cases::integer_tensor("float8_e4m3fn", {2, 3}, 1);
  // The output has the dtype of x, although a matmul of fp8 operands would give float32.
  EXPECT_EQ(output_format(c).name, "float8_e4m3fn");
  c.attributes["output_dtype"] = "float32";
  EXPECT_EQ(output_format(c).name, "float32");
  EXPECT_EQ(emulate(c, machine_named("exact")).format().name, "float32");

  Case unread;
  unread.name = "u", unread.op = "twice_first";
  unread.unread_inputs = {{"a_scale", &format_named("float64")}, {"x", &format_named("bfloat16")}};
  EXPECT_EQ(output_format(unread).name, "bfloat16");
  unread.unread_inputs.erase("x");
  EXPECT_EQ(error_of([&] { output_format(unread); }),
            "case u: twice_first needs the input 'x'; its inputs are (none)");
  unread.unread_inputs.clear();
  unread.output().golden = cases::integer_tensor("float32", {1}, 1);
  EXPECT_EQ(output_format(unread).name, "float32");
}

TEST(RegisterTest, AnOperatorMayHaveARuleForItsOutput) {
  Operator row = twice("twice_wide");
  row.output_format = [](const Case&) -> const Format& { return format_named("int32"); };

  register_operator(row);
  const Case c = case_of("twice_wide", "int8");
  EXPECT_EQ(emulate(c, machine_named("exact")).format().name, "int32");
  // The golden result of integers has the output's dtype, because it is exact.
  EXPECT_EQ(golden_result(c).format().name, "int32");
  EXPECT_EQ(golden_result(c).view().values(), doubled(c));
}

TEST(RegisterTest, AResultOfAnotherDtypeIsRefused) {
  Operator row = twice("twice_float32");
  row.run = [](const Call& call) {
    return Tensor::from_values(format_named("float32"), call.test_case.input("x").shape(),
                               doubled(call.test_case));
  };
  register_operator(row);
  EXPECT_EQ(
      error_of([] { emulate(case_of("twice_float32"), machine_named("ascend910b")); }),
      "case t: the operator 'twice_float32' gave float32, but the case's output dtype is float16");
  row = twice("twice_nothing");
  row.run = [](const Call&) { return Tensor(); };
  row.reference = [](const ReferenceCall&) { return Tensor(); };
  register_operator(row);
  EXPECT_EQ(
      error_of([] { emulate(case_of("twice_nothing"), machine_named("ascend910b")); }),
      "case t: the operator 'twice_nothing' gave nothing, but the case's output dtype is float16");
  EXPECT_EQ(error_of([] { golden_result(case_of("twice_nothing")); }),
            "case t: the reference of 'twice_nothing' gave nothing, but the golden result of a "
            "float16 result must be float64");
}

TEST(RegisterTest, AReferenceOfAnotherDtypeIsRefused) {
  Operator row = twice("twice_narrow");
  row.reference = [](const ReferenceCall& call) { return call.test_case.input("x"); };
  register_operator(row);
  EXPECT_EQ(error_of([] { golden_result(case_of("twice_narrow")); }),
            "case t: the reference of 'twice_narrow' gave float16, but the golden result of a "
            "float16 result must be float64");
}

TEST(RegisterTest, AResultOfAnotherShapeIsRefused) {
  Operator row = twice("twice_flat");
  row.run = [](const Call& call) {
    const Tensor& x = call.test_case.input("x");
    return Tensor::from_values(call.output, {x.size()}, doubled(call.test_case));
  };
  register_operator(row);
  Case c = case_of("twice_flat");
  for (int again = 0; again < 2; ++again) {
    EXPECT_EQ(
        error_of([&] { emulate(c, machine_named("ascend910b")); }),
        "case t: the operator 'twice_flat' gave a result of shape [6], but its golden result has "
        "[2, 3]");
  }
  EXPECT_EQ(emulate(case_of("twice_flat", "float16", {6}), machine_named("ascend910b")).size(), 6);
  // The golden result that the case carries decides, and no reference is computed.
  asked = 0;
  c.output().golden = Tensor(format_named("float64"), {3, 2});
  EXPECT_EQ(
      error_of([&] { emulate(c, machine_named("ascend910b")); }),
      "case t: the operator 'twice_flat' gave a result of shape [6], but its golden result has "
      "[3, 2]");
  EXPECT_EQ(asked, 0);
}

TEST(RegisterTest, TheReferenceIsAskedOnceForAKindOfCase) {
  register_operator(twice("twice_counted"));
  asked = 0;
  const Machine& machine = machine_named("ascend910b");
  Case c = case_of("twice_counted");
  for (int i = 0; i < 3; ++i) {
    c.attributes["seed"] = std::int64_t{i};
    c.inputs["x"] = cases::integer_tensor("float16", {2, 3}, static_cast<std::uint64_t>(i));
    emulate(c, machine);
  }
  EXPECT_EQ(asked, 1);
  emulate(case_of("twice_counted", "float16", {3, 2}), machine);
  EXPECT_EQ(asked, 2);
  // Another value of axis may give another shape, so that the reference is called again.
  c.attributes["axis"] = std::int64_t{1};
  emulate(c, machine);
  EXPECT_EQ(asked, 3);
}

TEST(RegisterTest, WhatIsOptionalMayBeMissing) {
  Operator row = twice("twice_bare");
  row.tolerance = nullptr;
  register_operator(row);
  EXPECT_EQ(error_of([] { derived_tolerance(case_of("twice_bare")); }),
            "case t: no tolerance can be derived for twice_bare with float16 results");
  EXPECT_THAT(error_of([] {
                generate_case("twice_bare", {&format_named("float16"), {1}});
              }),
              HasSubstr("cases of 'twice_bare' cannot be made; choose one of matmul, "));
}

}  // namespace
}  // namespace assay
