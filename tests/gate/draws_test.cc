// Tests draws through all callers: the gate, the command line with its reports, the runner of the
// dataset tests and the matchers, with and without a golden result.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/gate.h"
#include "assay/matchers/drawn_from.h"
#include "assay/matchers/elementwise.h"
#include "tools/program.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kDraws = 8192;

std::vector<double> uniforms(std::uint64_t seed) {
  Random random(seed, stream_of("draws_test"));
  std::vector<double> values;
  for (std::int64_t i = 0; i < kDraws; ++i) values.push_back(random.uniform());
  return values;
}

Tensor tensor_of(const std::vector<double>& values, const char* dtype = "float32") {
  return Tensor::from_values(format_named(dtype), {kDraws}, values);
}

// Returns a case that has only an output, which was drawn.
Case noise(const std::string& name, const std::vector<double>& values) {
  Case c;
  c.name = name;
  c.op = "team_random";
  c.output().recorded["npu"].tensor = tensor_of(values);
  return c;
}

// Returns a case with a dropout of some input. The share `done` of its elements is really dropped,
// and the case says that the share is `p`. The golden result is the input.
Case dropout(const std::string& name, double p, double done) {
  const std::vector<double> x = uniforms(1), u = uniforms(2);
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(u[i] < done ? 0 : (x[i] + 1) / (1 - p));
  std::vector<double> input;
  for (const double v : x) input.push_back(v + 1);
  Case c = noise(name, y);
  c.op = "team_dropout";
  c.attributes["output_dtype"] = std::string("float32");
  c.attributes["p"] = p;
  c.attributes["standard"] = std::string("distribution(dropout)");
  c.output().golden = tensor_of(input, "float64");
  return c;
}

class GateDraws : public ProgramTest {};

TEST_F(GateDraws, NeedNoGoldenResult) {
  std::vector<double> lanes = uniforms(3);
  for (std::size_t i = 1; i < lanes.size(); i += 2) lanes[i] = lanes[i - 1];
  make("noise.h5", {noise("lanes", lanes), noise("right", uniforms(3))});
  const std::string gate = "assay gate noise.h5 --standard 'distribution(uniform,low=0,high=1)'";
  EXPECT_THAT(run(gate + " --case right"), Exits(0));
  const Ran ran = run(gate + " --json r.json --html r.html --junit r.xml");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(
      ran.out,
      AllOf(
          HasSubstr("8 192 draws do not follow uniform,low=0,high=1: "),
          HasSubstr("between elements 1 apart (p "),
          HasSubstr("right draws fail with a probability of at most 1e-06"),
          HasSubstr("note: a distribution function that differs by less than 0.0"),
          HasSubstr("note: tests of 8 192 draws, each of which fails if its p is below 2e-07: ")));
  const nlohmann::json cases = json("r.json")["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["verdicts"][0]["bound"]["distribution"], "uniform,low=0,high=1");
  const nlohmann::json tests = cases[0]["verdicts"][0]["tests"];
  ASSERT_EQ(tests.size(), 5u);
  EXPECT_EQ(tests[2]["name"], "serial correlation");
  EXPECT_EQ(tests[2]["passed"], false);
  EXPECT_LT(tests[2]["p_value"].get<double>(), 1e-10);
  EXPECT_DOUBLE_EQ(tests[2]["limit"].get<double>(), 2e-7);
  for (const auto& test : cases[1]["verdicts"][0]["tests"]) EXPECT_EQ(test["passed"], true) << test;
  EXPECT_THAT(read("r.html"), HasSubstr("between elements 1 apart (p "));
  EXPECT_THAT(read("r.xml"), HasSubstr("between elements 1 apart (p "));
  // The case has no golden result, which any standard but `distribution` needs.
  EXPECT_THAT(run("assay gate noise.h5 --standard torch").out,
              HasSubstr("case lanes has no golden result"));
  EXPECT_THAT(run("assay gate noise.h5 --standard 'distribution(unifrom)'").err,
              HasSubstr("did you mean 'uniform'?"));
}

TEST_F(GateDraws, TheCaseMayNameTheLawAndItsParameters) {
  make("dropout.h5", {dropout("often", 0.1, 0.13), dropout("right", 0.1, 0.1)});
  const Ran ran = run("assay gate dropout.h5 --json r.json");
  EXPECT_THAT(ran, Exits(1));
  const nlohmann::json cases = json("r.json")["cases"];
  EXPECT_EQ(cases[0]["outcome"], "fail");
  EXPECT_THAT(cases[0]["because"].get<std::string>(),
              HasSubstr("do not follow dropout,p=0.1: share of zeros"));
  EXPECT_EQ(cases[1]["outcome"], "pass");
  EXPECT_EQ(cases[1]["verdicts"][0]["bound"]["origin"], "case");
  Case open = dropout("open", 0.1, 0.1);
  open.attributes.erase("p");
  make("open.h5", {open});
  EXPECT_THAT(run("assay gate open.h5").out, HasSubstr("the law dropout needs p"));
}

TEST_F(GateDraws, WithoutAGoldenResultDropoutDropsFromTheInput) {
  Case c = dropout("x", 0.1, 0.1);
  c.inputs["x"] = *c.output().golden;
  c.output().golden = {};
  make("x.h5", {c});
  EXPECT_THAT(run("assay gate x.h5"), Exits(0));
  c.inputs.clear();
  make("none.h5", {c});
  EXPECT_THAT(run("assay gate none.h5").out,
              HasSubstr("the law needs the output without dropout: the case has neither a golden "
                        "result nor an input x"));
}

TEST(GateCaseOfDraws, AreHeldAgainstTheInputWithoutAGoldenResult) {
  Case c = dropout("x", 0.1, 0.1);
  const Tensor x = *c.output().golden, output = c.output().recorded.at("npu").tensor;
  c.output().golden = {};
  c.inputs["x"] = x;
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kPass);
  c.inputs["x"] = tensor_of(uniforms(3));
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kFail) << "another tensor's elements";
}

// A law with its own parameters needs neither a golden result nor an input. Dropout needs one of
// the two.
TEST(GateCaseOfDraws, WhichLawsNeedAGoldenResult) {
  Case c = noise("x", uniforms(3));
  const GateRequest request{.bounds = {.standards = {"distribution(uniform)"}}};
  const CaseReport uniform = gate_case(c, c.output().recorded.at("npu").tensor, request);
  EXPECT_EQ(uniform.outcome(), Outcome::kPass) << uniform.because();
  c = dropout("x", 0.1, 0.1);
  c.output().golden = {};
  const CaseReport dropped = gate_case(c, c.output().recorded.at("npu").tensor);
  EXPECT_EQ(dropped.outcome(), Outcome::kNotComparable);
  EXPECT_THAT(dropped.because(),
              HasSubstr("the law needs the output without dropout: the case has neither a golden "
                        "result nor an input x"));
}

TEST_F(GateDraws, MutationsAreTried) {
  make("noise.h5", {noise("right", uniforms(3))});
  EXPECT_THAT(run("assay gate noise.h5 --standard 'distribution(uniform)' --mutate"), Exits(0));
}

TEST_F(GateDraws, OfDatasetTests) {
  Case c;
  c.name = "cast";
  c.op = "cast";
  c.attributes["output_dtype"] = std::string("bfloat16");
  c.attributes["standard"] = std::string("distribution(uniform,low=0,high=1)");
  c.inputs["x"] = tensor_of(uniforms(4));
  Case shifted = c;
  shifted.name = "shifted";
  std::vector<double> values = uniforms(4);
  for (double& v : values) v = 0.9 * v + 0.1;
  shifted.inputs["x"] = tensor_of(values);
  make("cast.h5", {c, shifted});
  const std::string runner = shell_word(ASSAY_RUNNER) + " cast.h5 --machine ascend910b";
  EXPECT_THAT(run(runner + " --case cast"), Code(0));
  const Ran ran = run(runner + " --case shifted");
  EXPECT_THAT(ran, Code(1));
  EXPECT_THAT(ran.out, HasSubstr("8 192 draws do not follow uniform,low=0,high=1"));
}

TEST_F(GateDraws, OfArraysThatAreCompared) {
  make("noise.h5", {noise("a", uniforms(3)), noise("b", uniforms(6))});
  const std::string compare =
      "assay compare noise.h5:/cases/a/outputs/npu noise.h5:/cases/b/outputs/npu --standard ";
  Ran ran = run(compare + "'distribution(uniform)'");
  EXPECT_THAT(ran, Exits(0));
  EXPECT_THAT(ran.out, HasSubstr("8 192 draws agree with uniform,low=0,high=1"));
  ran = run(compare + "'distribution(uniform,high=1.1)'");
  EXPECT_THAT(ran, Exits(1));
  EXPECT_THAT(ran.out, HasSubstr("8 192 draws do not follow uniform,low=0,high=1.1"));
}

TEST(MatchDraws, OfALawAloneOfAReferenceAndOfACase) {
  const std::vector<double> right = uniforms(5);
  EXPECT_THAT(right, DrawnFrom("uniform"));
  EXPECT_THAT(right, Not(DrawnFrom("normal")));
  testing::StringMatchResultListener listener;
  const DrawnFromMatcher normal = DrawnFrom("normal,delta=1e-9");
  EXPECT_FALSE(
      testing::Matcher<const std::vector<double>&>(normal).MatchAndExplain(right, &listener));
  EXPECT_THAT(listener.str(),
              AllOf(HasSubstr("8 192 draws do not follow normal,mean=0,deviation=1,delta=1e-09: "),
                    HasSubstr("deviation 0."), HasSubstr("note: tests of 8 192 draws")));
  EXPECT_EQ(normal.describe(true), "is not drawn from normal,delta=1e-9");
  const Case c = dropout("x", 0.2, 0.2);
  EXPECT_THAT(c.output().recorded.at("npu").tensor, DrawnFrom("dropout,p=0.2", *c.output().golden));
  EXPECT_THAT(c.output().recorded.at("npu").tensor, DrawnFrom("dropout", c));
  EXPECT_THAT(c.output().recorded.at("npu").tensor, CloseTo(c));
  EXPECT_THAT(c.output().recorded.at("npu").tensor,
              Not(DrawnFrom("dropout,p=0.25", *c.output().golden)));
}

}  // namespace
}  // namespace assay
