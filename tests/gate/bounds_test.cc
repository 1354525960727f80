// Tests the choice of the bound for a case, by calling the functions that choose it. Also tests
// which checks a case gets, and to which of its outputs the operator belongs.
#include "assay/gate/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/format/table.h"
#include "assay/gate/case_outputs.h"
#include "assay/gate/close_to.h"
#include "assay/gate/gate.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::HasSubstr;

const Format& float32() { return format_named("float32"); }

std::vector<ChosenBound> chosen(const Case& c, const BoundRequest& request) {
  return choose_bounds(c, float32(), request, {});
}

// A tolerance replaces those of the standards. Two standards with tolerances then give only one
// check.
TEST(ChooseBounds, ATolerancesStandardsAreOneCheck) {
  Case c;
  c.attributes["standard"] = std::string("torch,triton_ascend");
  EXPECT_EQ(chosen(c, {}).size(), 2u);
  c.attributes["rtol"] = 0.25;
  std::vector<ChosenBound> one = chosen(c, {});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].bound->rtol, 0.25);
  EXPECT_EQ(one[0].bound->origin, "case");
  one = chosen(c, {.standards = {"torch", "triton_ascend"}, .rtol = 0.5});
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].bound->rtol, 0.5);
  EXPECT_EQ(one[0].bound->origin, "command");
  EXPECT_EQ(chosen(c, {.standards = {"torch", "ulp(4)"}, .rtol = 0.5}).size(), 2u);
  EXPECT_EQ(chosen(c, {.standards = {"ulp(4)"}, .atol = 0.5}).size(), 2u);
}

// With a tolerance but no standard, NaN is a mismatch even if NaN is expected, whatever the dtype.
// A named standard has its own rule for NaN. `equal_nan` overrides both.
TEST(ChooseBounds, ATolerancesNanIsThatOfANamedStandard) {
  Case own, of_standard;
  own.attributes["rtol"] = 0.25;
  of_standard.attributes = {{"rtol", 0.25}, {"standard", std::string("triton_ascend")}};
  const auto nan_equal = [](const Format& output, const Case& c, const BoundRequest& request) {
    return choose_bounds(c, output, request, {}).at(0).bound->nan_equal;
  };
  for (const Format& f : formats()) {
    SCOPED_TRACE(f.name);
    EXPECT_FALSE(nan_equal(f, {}, {.rtol = 0.5}));
    EXPECT_FALSE(nan_equal(f, {}, {.atol = 0.5}));
    EXPECT_FALSE(nan_equal(f, own, {}));
    EXPECT_TRUE(nan_equal(f, own, {.equal_nan = true}));
  }
  EXPECT_TRUE(nan_equal(float32(), {}, {.standards = {"triton_ascend"}, .rtol = 0.5}));
  EXPECT_TRUE(nan_equal(float32(), of_standard, {}));
  EXPECT_FALSE(nan_equal(float32(), {}, {.standards = {"torch"}, .rtol = 0.5}));
}

TEST(ChooseBounds, BudgetsAreShares) {
  const Case c;
  EXPECT_EQ(chosen(c, {.rtol = 0.5, .max_blind = 1.0})[0].bound->max_blind, 1.0);
  EXPECT_EQ(chosen(c, {.rtol = 0.5, .max_mismatch_fraction = 1.0})[0].bound->max_mismatch_fraction,
            1.0);
  for (const double share : {1.5, 1.01, -0.01}) {
    EXPECT_NE(error_of([&] { (void)chosen(c, {.rtol = 0.5, .max_blind = share}); }), "no error");
    EXPECT_NE(error_of([&] { (void)chosen(c, {.rtol = 0.5, .max_mismatch_fraction = share}); }),
              "no error");
  }
  EXPECT_NE(error_of([&] { (void)chosen(c, {.rtol = 0.5, .max_mismatches = -1}); }), "no error");
  // Budgets such as max_blind in the case's own attributes have the same limits as those of a
  // request.
  Case own;
  own.attributes["rtol"] = 0.5;
  own.attributes["why"] = std::string("zeros are right");
  own.attributes["max_blind"] = 1.0;
  EXPECT_EQ(chosen(own, {})[0].bound->max_blind, 1.0);
  own.attributes["max_blind"] = 1.01;
  EXPECT_NE(error_of([&] { (void)chosen(own, {}); }), "no error");
  own.attributes["max_blind"] = 1.0;
  own.attributes["max_mismatches"] = std::int64_t{-1};
  EXPECT_THAT(error_of([&] { (void)chosen(own, {}); }),
              HasSubstr("max_mismatches must be a whole number of at least 0, but it is -1"));
  own.attributes["max_mismatches"] = std::int64_t{0};
  own.attributes["max_mismatch_fraction"] = 1.5;
  EXPECT_THAT(error_of([&] { (void)chosen(own, {}); }),
              HasSubstr("max_mismatch_fraction must be from 0 to 1, but it is 1.5"));
}

// A case's budgets belong to its own bound, or to the default bound if the case has none. They do
// not hold for a tolerance in the request, whatever standards the request names beside it.
TEST(ChooseBounds, BudgetsOfTheCaseAreNotTheRequests) {
  Case c;
  c.attributes["max_mismatches"] = std::int64_t{3};
  const std::vector<ChosenBound> both = chosen(c, {.standards = {"ulp(4)"}, .rtol = 0.5});
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].bound->rule, Rule::kUlps);
  EXPECT_EQ(both[1].bound->rtol, 0.5);
  for (const ChosenBound& one : both) EXPECT_EQ(one.bound->max_mismatches, std::nullopt);
  EXPECT_EQ(chosen(c, {})[0].bound->origin, "default");
  EXPECT_EQ(chosen(c, {})[0].bound->max_mismatches, 3);
  EXPECT_EQ(default_bound(c, float32(), {}, "").bound->max_mismatches, 3);
}

TEST(NamesBound, WhatSpeaksOfEveryDtype) {
  const Case none;
  EXPECT_FALSE(names_bound(none, {}));
  EXPECT_TRUE(names_bound(none, {.rtol = 0.5}));
  EXPECT_TRUE(names_bound(none, {.atol = 0.5}));
  EXPECT_TRUE(names_bound(none, {.standards = {"torch"}}));
  EXPECT_FALSE(names_bound(none, {.standards = {"bfloat16=torch"}}));
  EXPECT_TRUE(names_bound(none, {.standards = {"bfloat16=torch", "torch"}}));
  for (const char* name : {"rtol", "atol"}) {
    Case c;
    c.attributes[name] = 0.5;
    EXPECT_TRUE(names_bound(c, {})) << name;
  }
  Case c;
  c.attributes["standard"] = std::string("torch");
  EXPECT_TRUE(names_bound(c, {}));
}

// torch takes the looser tolerance of the two dtypes, for both rtol and atol.
TEST(ChooseBounds, AGoldenResultOfLessPrecisionLoosens) {
  Case c;
  c.output().golden = Tensor::from_values(format_named("float64"), {1}, std::vector<double>{1});
  const Format& output = format_named("float64");
  const auto torch = [&] { return *choose_bounds(c, output, {.standards = {"torch"}})[0].bound; };
  EXPECT_EQ(torch().rtol, 1e-7);
  EXPECT_EQ(torch().atol, 1e-7);
  c.output().golden = Tensor::from_values(float32(), {1}, std::vector<double>{1});
  EXPECT_EQ(torch().rtol, 1.3e-6);
  EXPECT_EQ(torch().atol, 1e-5);
}

// A kernel that returns integers where floats are expected does not pass because the expected
// values round to its integers, whatever the standard. A case that names an integer output dtype
// still has its golden result rounded.
TEST(TensorChecks, AnOutputOfIntegersIsNotComparableWithFractions) {
  const std::vector<double> rounded = {0, 1, 3, -2}, fractions = {0.25, 1, 3.25, -2},
                            whole = {0, 1, 3, -2};
  const auto of = [](const char* dtype, const std::vector<double>& values) {
    return Tensor::from_values(format_named(dtype), {4}, values);
  };
  std::vector<GateRequest> requests = {{}, {.bounds = {.atol = 0.5}}};
  for (const char* name :
       {"default", "torch", "numpy", "onnx", "tensorrt", "ulp(1)", "bit_equal"}) {
    requests.push_back({.bounds = {.standards = {name}}});
  }
  for (const GateRequest& request : requests) {
    for (const char* dtype : {"int8", "int32", "int64"}) {
      const Tensor output = of(dtype, rounded);
      const Verdict refused = gate_tensors(output, of("float64", fractions), request)[0];
      SCOPED_TRACE(dtype + (" " + refused.bound.text()));
      EXPECT_EQ(refused.outcome, Outcome::kNotComparable) << refused.because;
      EXPECT_THAT(refused.because, testing::HasSubstr("2 of 4 expected values (float64) are not "
                                                      "whole numbers, the first is 0.25 at [0]"));
      EXPECT_EQ(gate_tensors(output, of("float64", whole), request)[0].outcome, Outcome::kPass);
      Case c;
      c.name = "q";
      c.op = "external";
      c.output().golden = of("float64", fractions);
      c.attributes["output_dtype"] = std::string(dtype);
      const Outcome outcome = gate_case(c, output, request).outcome();
      EXPECT_EQ(outcome, Outcome::kPass);
    }
  }
}

// Two tensors without a case also get the looser tolerance of both dtypes, whichever of them has
// less precision. The figures are those of torch.testing.assert_close(check_dtype=False).
TEST(TensorChecks, TorchTakesTheLooserToleranceOfBothDtypes) {
  const struct {
    const char *output, *golden;
    double rtol, atol;
  } rows[] = {{"float64", "float64", 1e-7, 1e-7},      {"float64", "float32", 1.3e-6, 1e-5},
              {"float32", "float64", 1.3e-6, 1e-5},    {"float32", "float16", 1e-3, 1e-5},
              {"float32", "bfloat16", 1.6e-2, 1e-5},   {"float16", "bfloat16", 1.6e-2, 1e-5},
              {"bfloat16", "float16", 1.6e-2, 1e-5},   {"float16", "float32", 1e-3, 1e-5},
              {"complex64", "complex64", 1.3e-6, 1e-5}};
  for (const auto& row : rows) {
    const Format &output = format_named(row.output), &golden = format_named(row.golden);
    const auto checks = tensor_checks(output, golden, {.bounds = {.standards = {"torch"}}});
    ASSERT_EQ(checks.size(), 1u);
    EXPECT_EQ(checks[0].bound->rtol, row.rtol) << row.output << " " << row.golden;
    EXPECT_EQ(checks[0].bound->atol, row.atol) << row.output << " " << row.golden;
  }
  // The verdict follows the bound: 0.04 is within bfloat16's tolerance for 3, 0.048, and outside
  // float32's.
  const Tensor actual =
      Tensor::from_values(format_named("float32"), {1}, std::vector<double>{3.04});
  const Tensor expected =
      Tensor::from_values(format_named("bfloat16"), {1}, std::vector<double>{3});
  const GateRequest request{.bounds = {.standards = {"torch"}}};
  EXPECT_EQ(gate_tensors(actual, expected, request)[0].outcome, Outcome::kPass);
  const Tensor same = Tensor::from_values(format_named("float32"), {1}, std::vector<double>{3});
  EXPECT_EQ(gate_tensors(actual, same, request)[0].outcome, Outcome::kFail);
  EXPECT_THAT(actual, CloseTo(expected).standard("torch"));
  EXPECT_THAT(actual, testing::Not(CloseTo(same).standard("torch")));
}

// An environment variable that is not set, or is empty, changes nothing. It does not mean a
// tolerance of 0.
TEST(EnvironmentOverride, TakesWhatIsSetAlone) {
  struct Variable {
    explicit Variable(const char* named) : name(named) { unsetenv(name); }
    ~Variable() { unsetenv(name); }
    void set(const char* value) const { setenv(name, value, 1); }
    const char* name;
  };
  const Variable standard("ASSAY_STANDARD"), rtol("ASSAY_RTOL"), atol("ASSAY_ATOL"),
      nan("ASSAY_EQUAL_NAN");
  const auto read = [] { return EnvironmentOverride::read(); };
  EXPECT_EQ(read().text, "");
  EXPECT_FALSE(read().request.rtol.has_value());
  EXPECT_FALSE(read().request.atol.has_value());
  BoundRequest request{.standards = {"torch"}, .rtol = 0.5, .atol = 0.25};
  EXPECT_EQ(override_by_environment(request), "");
  EXPECT_EQ(request.rtol, 0.5);
  rtol.set("0.125");
  atol.set("");
  EXPECT_EQ(override_by_environment(request), "ASSAY_RTOL=0.125");
  EXPECT_EQ(request.rtol, 0.125);
  EXPECT_FALSE(request.atol.has_value()) << "the environment's level sets the other to 0";
  for (const char* bad : {"-1", "1x", "nan"}) {
    rtol.set(bad);
    EXPECT_NE(error_of([&] { (void)read(); }), "no error") << bad;
  }
}

// The error names the standard or the machine of the request that does not exist.
TEST(CheckRequest, NamesWhatIsUnknown) {
  const auto problem = [](const char* standard) {
    return error_of([&] { check_request({.standards = {standard}}); });
  };
  EXPECT_EQ(problem("torch"), "no error");
  EXPECT_EQ(problem("bfloat16=atb"), "no error");
  EXPECT_EQ(problem("accumulation(hopper)"), "no error");
  EXPECT_NE(problem("torhc"), "no error");
  EXPECT_NE(problem("accumulation(hoper)"), "no error");
  EXPECT_NE(problem("bfloat17=torch"), "no error");
}

// Inputs are read only if a bound, a checksum or a mutation needs them.
TEST(NeedsInputs, WhereTheOperatorsOwnBoundIsAsked) {
  Case header;
  header.op = "softmax";
  EXPECT_TRUE(needs_inputs(header, {}));
  EXPECT_FALSE(needs_inputs(header, {.bounds = {.rtol = 0.5}}));
  EXPECT_TRUE(needs_inputs(header, {.bounds = {.standards = {"accumulation"}}}));
  EXPECT_TRUE(needs_inputs(header, {.bounds = {.rtol = 0.5}, .mutate = true}));
  header.op = "their_own";
  EXPECT_FALSE(needs_inputs(header, {}));
  header.attributes["standard"] = std::string("accumulation");
  EXPECT_TRUE(needs_inputs(header, {}));
}

Case constant_product() {
  Case c;
  c.name = "p";
  c.op = "matmul";
  const std::vector<double> values(16 * 16, 0.5);
  c.inputs["a"] = Tensor::from_values(float32(), {16, 16}, values);
  c.inputs["b"] = Tensor::from_values(float32(), {16, 16}, values);
  c.output().golden = Tensor::from_values(float32(), {16, 16}, std::vector<double>(16 * 16, 4));
  return c;
}

// A product is judged by elements and by checksums if both are requested, and by only one of them
// if only that one is requested.
TEST(GateCase, ElementsAndChecksumsOfAProduct) {
  const Case c = constant_product();
  GateRequest request;
  CaseReport report = gate_case(c, *c.output().golden, request);
  EXPECT_EQ(report.verdicts.size(), 1u);
  EXPECT_FALSE(report.abft.has_value());
  request.checksums = parse_threshold("rounding_variance");
  report = gate_case(c, *c.output().golden, request);
  EXPECT_EQ(report.verdicts.size(), 1u);
  ASSERT_TRUE(report.abft.has_value());
  EXPECT_EQ(report.abft->outcome, Outcome::kPass);
  request.elements = false;
  report = gate_case(c, *c.output().golden, request);
  EXPECT_TRUE(report.verdicts.empty());
  ASSERT_TRUE(report.abft.has_value());
}

// The checksums of attention are reported beside its elements if they decide anything.
TEST(GateCase, ElementsAndChecksumsOfAttention) {
  Recipe recipe{&float32(), {24, 40, 16}};
  Case c = generate_case("attention", recipe);
  c.output().golden = golden_result(c);
  const Tensor output = emulate(c, machine_named("ascend910b"));
  GateRequest request;
  request.checksums = parse_threshold("rounding_variance");
  const CaseReport report = gate_case(c, output, request);
  EXPECT_EQ(report.verdicts.size(), 1u);
  ASSERT_TRUE(report.abft.has_value());
  EXPECT_EQ(report.abft->outcome, Outcome::kPass) << report.abft->because;
}

// Mutations are tried on an output that passes, because they show that it could have failed.
TEST(GateCase, MutatesWhatPasses) {
  Case c = generate_case("matmul", {&float32(), {16, 32, 16}});
  c.output().golden = golden_result(c);
  const Tensor output = emulate(c, machine_named("ascend910b"));
  GateRequest request{.bounds = {.rtol = 1e-3, .atol = 1e-4}};
  EXPECT_TRUE(gate_case(c, output, request).mutations.empty()) << "not asked for";
  request.mutate = true;
  const CaseReport report = gate_case(c, output, request);
  ASSERT_EQ(report.outcome(), Outcome::kPass) << report.because();
  ASSERT_FALSE(report.mutations.empty());
  bool any = false;
  for (const MutationResult& m : report.mutations) any = any || (m.applied && m.caught());
  EXPECT_TRUE(any);
  Tensor wrong = output;
  wrong.set_bits(3, encode(float32(), 500));
  const CaseReport failed = gate_case(c, wrong, request);
  EXPECT_EQ(failed.outcome(), Outcome::kFail);
  EXPECT_TRUE(failed.mutations.empty());
}

// The checksums of golden results allow each element the same error as the case's bound.
TEST(GateChecksums, ToleranceOfGoldenResults) {
  Case c;
  c.op = "softmax";
  c.output().golden = Tensor::from_values(float32(), {2, 2}, std::vector<double>{1, 2, 3, 4});
  const auto at_three = [&](const BoundRequest& bounds) {
    return checksum_options(c, float32(), {.bounds = bounds}).options.golden_tolerance(3.0);
  };
  EXPECT_EQ(at_three({.standards = {"bit_equal"}}), 0);
  EXPECT_EQ(at_three({.standards = {"ulp(4)"}}), 0x1p-20);
  EXPECT_EQ(at_three({.rtol = 0.5, .atol = 0.25}), 1.75);
  EXPECT_EQ(at_three({.standards = {"ulp(4)", "bit_equal"}}), 0) << "the least of all";
}

// A producer stands for a machine only if it has exactly the name of a machine or of a variant.
TEST(GateChecksums, ProducersThatAreNoMachines) {
  const Case c = constant_product();
  const auto machine = [&](const char* producer) {
    const Machine* m = machine_behind(c, {}, {.producer = producer});
    return m == nullptr ? std::string_view() : m->name;
  };
  EXPECT_EQ(machine("hopper"), "hopper");
  EXPECT_EQ(machine("hopper,chunk=8"), "hopper,chunk=8");
  for (const char* other : {"hopper,run=3", "hopper2", "hop", "npu", ""}) {
    EXPECT_EQ(machine(other), "") << other;
  }
}

// A producer's name is looked up only in the table of machines. No file is read for it.
TEST(GateChecksums, ProducersNameNoMachineFiles) {
  const std::string path = testing::TempDir() + "/npu.json";
  write_file(path,
             R"({"schema": 1, "name": "npu", "matrix_unit": [{"input": "fp16", "chunk": 4}]})");
  EXPECT_EQ(machine_behind(constant_product(), {}, {.producer = path}), nullptr);
  EXPECT_EQ(machine_named(path).name, "npu");
}

// The output that the operator computes keeps its operator. Any other output becomes an external
// case, without the attributes of the operator.
TEST(OutputCase, OfTheOperatorAndOfNone) {
  Case c;
  c.name = "two";
  c.op = "softmax";
  c.attributes["axis"] = std::int64_t{0};
  const std::string own(find_operator("softmax")->output);
  c.outputs[own].golden = Tensor::from_values(float32(), {1}, std::vector<double>{1});
  c.outputs["largest"].golden =
      Tensor::from_values(format_named("float16"), {1}, std::vector<double>{2});
  EXPECT_EQ(computed_output(c).name, own);
  const Case computed = judged_case(c, own);
  EXPECT_EQ(computed.op, "softmax");
  EXPECT_EQ(computed.attributes.count("axis"), 1u);
  EXPECT_EQ(computed.attributes.count("output_dtype"), 0u);
  const Case other = judged_case(c, "largest");
  EXPECT_EQ(other.op, "external");
  EXPECT_EQ(other.text("output_dtype"), "float16");
  EXPECT_EQ(judged_case(c).output_name(), own);
}

// If a case has only one output, the operator computes that output, even if its name differs from
// the operator's own name for it.
TEST(OutputCase, TheOnlyOutputIsTheOperators) {
  Case c;
  c.name = "one";
  c.op = "softmax";
  ASSERT_EQ(find_operator("softmax")->output, std::string("y"));
  c.outputs["shares"].golden = Tensor::from_values(float32(), {1}, std::vector<double>{1});
  EXPECT_EQ(computed_output(c).name, "shares");
  EXPECT_EQ(computed_output(c).why_not, "");
  EXPECT_EQ(judged_case(c, "shares").op, "softmax");
  EXPECT_EQ(judged_case(c).output_name(), "shares");
  c.outputs["sums"] = c.outputs["shares"];
  EXPECT_FALSE(computed_output(c).name);
  EXPECT_THAT(computed_output(c).why_not, HasSubstr("but the case has only shares, sums"));
}

// Indices are judged by the bound of the output that holds their values. If that output has a
// tolerance, the indices take it. Otherwise they take its standards, each as `indices(...)`.
TEST(OutputCase, IndicesTakeTheBoundOfTheirValues) {
  Case c;
  c.name = "topk";
  c.op = "topk";
  c.outputs["values"].golden = Tensor::from_values(float32(), {1}, std::vector<double>{2});
  CaseOutput& indices = c.outputs["indices"];
  indices.golden = Tensor::from_values(format_named("int64"), {1}, std::vector<double>{1});
  indices.attributes["value_output"] = std::string("values");
  indices.attributes["standard"] = std::string("indices");
  const auto standard = [&] { return judged_case(c, "indices").text("standard"); };
  EXPECT_EQ(standard(), formatted("indices({})", kDefaultStandard));
  c.outputs["values"].attributes["standard"] = std::string("triton_ascend,ulp(4)");
  EXPECT_EQ(standard(), "indices(triton_ascend), indices(ulp(4))");
  for (const char* name : {"rtol", "atol"}) {
    Case with = c;
    with.outputs["values"].attributes[name] = 0.25;
    const Case one = judged_case(with, "indices");
    EXPECT_EQ(one.real(name), 0.25) << "the values' tolerance";
    EXPECT_EQ(one.text("standard"), "indices") << "is not judged by their standards";
    with = c;
    with.outputs["indices"].attributes[name] = 0.5;
    EXPECT_EQ(judged_case(with, "indices").text("standard"), "indices") << "has its own " << name;
    // The indices have a tolerance of their own, so that they take neither rtol nor atol from the
    // values.
    for (const char* theirs : {"rtol", "atol"}) {
      with.outputs["values"].attributes[theirs] = 0.25;
    }
    const Case own = judged_case(with, "indices");
    EXPECT_EQ(own.real(name), 0.5);
    EXPECT_EQ(own.attributes.count("rtol") + own.attributes.count("atol"), 1u) << name;
  }
  // First only the values have both rtol and atol, and the indices take them. Then the indices have
  // both, too.
  for (const char* name : {"rtol", "atol"}) c.outputs["values"].attributes[name] = 0.25;
  Case one = judged_case(c, "indices");
  EXPECT_EQ(one.real("rtol"), 0.25);
  EXPECT_EQ(one.real("atol"), 0.25);
  EXPECT_EQ(one.text("standard"), "indices");
  for (const char* name : {"rtol", "atol"}) c.outputs["indices"].attributes[name] = 0.5;
  one = judged_case(c, "indices");
  EXPECT_EQ(one.real("rtol"), 0.5);
  EXPECT_EQ(one.real("atol"), 0.5);
}

// The request's policies replace the case's own, one by one.
TEST(ChooseBounds, PoliciesOfTheRequestReplaceThoseOfTheCase) {
  Case c;
  c.attributes = {{"rtol", 0.5},
                  {"equal_nan", std::int64_t{1}},
                  {"infinity", std::string("fewer")},
                  {"max_mismatches", std::int64_t{3}},
                  {"max_mismatch_fraction", 0.25}};
  const Bound own = *chosen(c, {}).at(0).bound;
  EXPECT_TRUE(own.nan_equal);
  EXPECT_FALSE(own.nan_accepts);
  EXPECT_EQ(own.infinity, Infinity::kFewer);
  EXPECT_EQ(own.max_mismatches, 3);
  EXPECT_EQ(own.max_mismatch_fraction, 0.25);
  BoundRequest request;
  request.equal_nan = false;
  request.infinity = Infinity::kSaturating;
  request.nan_accepts = true;
  request.max_mismatches = 7;
  const Bound asked = *chosen(c, request).at(0).bound;
  EXPECT_FALSE(asked.nan_equal);
  EXPECT_TRUE(asked.nan_accepts);
  EXPECT_EQ(asked.infinity, Infinity::kSaturating);
  EXPECT_EQ(asked.max_mismatches, 7);
  EXPECT_EQ(asked.rtol, 0.5);
}

TEST(ClosenessText, NamesWhatWasAskedFor) {
  const auto text = [](const BoundRequest& request, bool of_case = false, bool negated = false) {
    return closeness_text(request, "x", of_case, "", negated);
  };
  EXPECT_EQ(text({}), "is close to x (standard default)");
  EXPECT_EQ(text({}, true), "is close to x (the case's bound)");
  EXPECT_EQ(text({}, false, true), "is not close to x (standard default)");
  EXPECT_EQ(text({.rtol = 1e-4}), "is close to x (rtol 0.0001, atol 0)");
  EXPECT_EQ(text({.standards = {"torch"}}, true), "is close to x (standard torch)");
  EXPECT_EQ(text({.standards = {"torch", "ulp(2)", "numpy"}, .atol = 0.125}),
            "is close to x (standard torch and standard ulp(2) and standard numpy, rtol 0, atol "
            "0.125)");
}

// A request that gives only a standard or only a tolerance also drops the case's budgets.
TEST(ChooseBounds, EitherOfTheRequestsSetsTheCasesBudgetsAside) {
  Case c;
  c.attributes["rtol"] = 0.5;
  c.attributes["max_mismatches"] = std::int64_t{3};
  EXPECT_EQ(chosen(c, {}).at(0).bound->max_mismatches, 3);
  EXPECT_EQ(chosen(c, {.standards = {"torch"}}).at(0).bound->max_mismatches, std::nullopt);
  EXPECT_EQ(chosen(c, {.rtol = 0.25}).at(0).bound->max_mismatches, std::nullopt);
}

// The case's reason for its blindness does not hold for another share of blind elements in the
// request.
TEST(ChooseBounds, AReasonGoesWithItsShare) {
  Case c;
  c.attributes["rtol"] = 0.5;
  c.attributes["max_blind"] = 0.75;
  c.attributes["why"] = std::string("zeros are right");
  const Bound own = *chosen(c, {}).at(0).bound;
  EXPECT_EQ(own.max_blind, 0.75);
  EXPECT_EQ(own.max_blind_why, "zeros are right");
  const Bound asked = *chosen(c, {.max_blind = 0.25}).at(0).bound;
  EXPECT_EQ(asked.max_blind, 0.25);
  EXPECT_EQ(asked.max_blind_why, "");
}

// The policies of the case and of the request also hold with the operator's own bound.
TEST(ChooseBounds, PoliciesHoldBesideTheOperatorsOwnBound) {
  Case c = constant_product();
  const Bound plain = *chosen(c, {}).at(0).bound;
  EXPECT_EQ(plain.origin, kOperatorOrigin);
  EXPECT_TRUE(plain.nan_equal);
  EXPECT_EQ(plain.max_mismatches, std::nullopt);
  EXPECT_FALSE(chosen(c, {.equal_nan = false}).at(0).bound->nan_equal);
  EXPECT_EQ(chosen(c, {.max_mismatches = 2}).at(0).bound->max_mismatches, 2);
  c.attributes["max_mismatches"] = std::int64_t{3};
  EXPECT_EQ(chosen(c, {}).at(0).bound->max_mismatches, 3);
}

// An error in a standard's name names the case only if the case gave that name.
TEST(ChooseBounds, AWrongNameIsTheFaultOfWhoGaveIt) {
  Case c;
  c.name = "mine";
  c.attributes["standard"] = std::string("torch");
  const std::string asked = error_of([&] { (void)chosen(c, {.standards = {"torhc"}}); });
  EXPECT_THAT(asked, HasSubstr("torhc"));
  EXPECT_THAT(asked, testing::Not(HasSubstr("mine")));
  c.attributes["standard"] = std::string("torhc");
  EXPECT_THAT(error_of([&] { (void)chosen(c, {}); }), testing::StartsWith("case mine: "));
}

// The budgets of the request also hold if the expected error is not known and the operator's own
// bound replaces it.
TEST(GateCase, BudgetsHoldWhereTheExpectedErrorIsNotKnown) {
  Case c = generate_case("gelu", Recipe{&float32(), {50}});
  c.output().golden = golden_result(c);
  const GateRequest request{.bounds = {.standards = {"expected_error"}, .max_mismatches = 2}};
  std::vector<double> values = c.output().golden->view().values();
  for (std::size_t wrong = 0; wrong < 4; ++wrong) {
    const Verdict v =
        gate_case(c, Tensor::from_values(float32(), {50}, values), request).verdicts.at(0);
    ASSERT_EQ(v.notes.size(), 1u);
    EXPECT_THAT(v.notes[0], HasSubstr("judged by the operator's own bound"));
    EXPECT_EQ(v.mismatches, static_cast<std::int64_t>(wrong));
    EXPECT_EQ(v.outcome, wrong <= 2 ? Outcome::kPass : Outcome::kFail) << v.because;
    values[wrong] += 1;
  }
}

// The input and the axis of the indices are those of the case. Here the columns of a 3 x 2 input
// are sorted in descending order. Along rows, the order would be another one.
TEST(ElementChecks, IndicesAreOfTheCasesInputAndAxis) {
  const Format& index = format_named("int64");
  Case c;
  c.name = "sorted";
  c.op = "external";
  c.attributes["standard"] = std::string("indices");
  c.attributes["of"] = std::string("x");
  c.attributes["output_dtype"] = std::string("int64");
  c.inputs["x"] = Tensor::from_values(float32(), {3, 2}, std::vector<double>{1, 9, 3, 8, 3, 7});
  c.output().golden = Tensor::from_values(index, {3, 2}, std::vector<double>{1, 0, 2, 1, 0, 2});
  EXPECT_EQ(element_checks(c, index, {}).at(0).index_axis, -1) << "the last one";
  c.attributes["axis"] = std::int64_t{0};
  const ElementCheck check = element_checks(c, index, {}).at(0);
  EXPECT_EQ(check.index_source, &c.inputs["x"]);
  EXPECT_EQ(check.index_axis, 0);
  // The output exchanges the indices of the equal elements of the first column, which is right.
  const Tensor output = Tensor::from_values(index, {3, 2}, std::vector<double>{2, 0, 1, 1, 0, 2});
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kPass) << gate_case(c, output).because();
}

}  // namespace
}  // namespace assay
