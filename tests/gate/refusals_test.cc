// Tests the gate's answers to requests, outputs and attributes of cases that it cannot follow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/gate/case_outputs.h"
#include "assay/gate/gate.h"
#include "assay/op/operator.h"
#include "error_of.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Tensor numbers(const char* dtype, const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), shape, values);
}

Tensor filled_with(const char* dtype, const Shape& shape, double value) {
  return numbers(dtype, shape,
                 std::vector<double>(static_cast<std::size_t>(element_count(shape)), value));
}

// Returns a product without a golden result.
Case open_product(const char* dtype = "float16") {
  Case c;
  c.name = "p";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  c.inputs["a"] = filled_with(dtype, {40, 8}, 0.5);
  c.inputs["b"] = filled_with(dtype, {8, 4}, 2);
  return c;
}

GateRequest of_rows(std::int64_t rows) {
  GateRequest request;
  request.sample = RowSample{.rows = rows, .seed = 3};
  return request;
}

// -- Samples of rows --

TEST(SampledRefusals, MutationsNeedWholeOutputs) {
  const Case c = open_product();
  GateRequest request = of_rows(5);
  request.mutate = true;
  EXPECT_EQ(error_of([&] {
              (void)gate_case(c, filled_with("float32", {40, 4}, 8), request);
            }),
            "mutations can be tried only on whole outputs, and not on a sample of rows; leave out "
            "one of the two");
}

TEST(SampledRefusals, AnOutputOfAnotherShapeOrDtypeIsNotComparable) {
  const Case c = open_product();
  const auto judged = [&](const Tensor& output) {
    return gate_case(c, output, of_rows(5)).verdicts.at(0);
  };
  EXPECT_EQ(judged(filled_with("float32", {40, 4}, 8)).outcome, Outcome::kPass);
  Verdict v = judged(filled_with("float32", {40, 5}, 8));
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_EQ(v.because, "the output has the shape [40, 5], but matmul of these inputs has [40, 4]");
  v = judged(filled_with("float16", {40, 4}, 8));
  EXPECT_EQ(v.outcome, Outcome::kNotComparable);
  EXPECT_THAT(v.because, HasSubstr("float16"));
}

TEST(SampledRefusals, AGoldenResultIsJudgedAsAWholeAndSaysSo) {
  Case c = open_product();
  c.output().golden = golden_result(c);
  const CaseReport report = gate_case(c, filled_with("float32", {40, 4}, 8), of_rows(5));
  EXPECT_EQ(report.outcome(), Outcome::kPass);
  EXPECT_FALSE(report.sample.has_value());
  EXPECT_THAT(report.verdicts.at(0).notes,
              testing::Contains("judged as a whole by its golden result, because rows are drawn "
                                "only from cases without one"));
}

// The reference implementation is sampled at the same rows as the output, whether it is in the case
// or listed beside it.
TEST(SampledRefusals, TheBenchmarkIsSampledToo) {
  Case c = open_product();
  const Tensor right = filled_with("float32", {40, 4}, 8), off = filled_with("float32", {40, 4}, 9);
  GateRequest request = of_rows(6);
  request.bounds.standards = {"cann_l0"};
  Origin origin;
  origin.producer = "target";
  origin.recorded = [&] { return std::vector<RecordedOutput>{{"bench", [&] { return off; }}}; };
  // An output with the same errors as its reference implementation passes. With a right reference
  // implementation, the same output fails.
  CaseReport report = gate_case(c, off, request, origin);
  EXPECT_EQ(report.verdicts.at(0).outcome, Outcome::kPass) << report.because();
  ASSERT_TRUE(report.sample.has_value());
  EXPECT_EQ(report.sample->rows, 6);
  EXPECT_EQ(report.sample->of, 40);
  origin.recorded = {};
  c.output().recorded["bench"].tensor = right;
  report = gate_case(c, off, request, origin);
  EXPECT_EQ(report.verdicts.at(0).outcome, Outcome::kFail);
  EXPECT_THAT(report.because(), StartsWith("of 6 of 40 rows: "));
}

// -- What the case's words and the request say beside each other --

TEST(PolicyRefusals, BlindnessNeedsAReason) {
  Case c = open_product();
  c.output().golden = golden_result(c);
  c.attributes["rtol"] = 0.5;
  c.attributes["max_blind"] = 0.25;
  const Tensor output = filled_with("float32", {40, 4}, 8);
  EXPECT_EQ(error_of([&] { (void)gate_case(c, output); }),
            "case p: max_blind is given without a reason; say in the attribute 'why' why a check "
            "is enough that does not see this share of the elements");
  c.attributes["why"] = std::string("zeros are right");
  EXPECT_EQ(gate_case(c, output).outcome(), Outcome::kPass);
}

TEST(PolicyRefusals, AMachineWithoutTheUnitMadeNoProduct) {
  Case c = open_product("float8_e4m3fn");
  c.output().golden = golden_result(c);
  GateRequest request;
  request.machine = &machine_named("ascend910b");
  Origin origin;
  origin.producer = "device";
  const CaseReport report = gate_case(c, filled_with("float32", {40, 4}, 8), request, origin);
  EXPECT_EQ(report.outcome(), Outcome::kNotComparable);
  EXPECT_THAT(report.because(), HasSubstr("ascend910b"));
  EXPECT_THAT(report.because(), HasSubstr("float8_e4m3fn"));
}

// -- Several outputs --

Case two_outputs() {
  Case c;
  c.name = "several";
  c.op = "matmul";
  c.inputs["a"] = filled_with("float16", {2, 3}, 1);
  c.inputs["b"] = filled_with("float16", {3, 2}, 1);
  c.outputs["one"].golden = filled_with("float32", {2, 2}, 3);
  c.outputs["two"].golden = filled_with("float32", {2, 2}, 3);
  return c;
}

TEST(OutputRefusals, TheOperatorsOutputIsSaidOnce) {
  Case c = two_outputs();
  ComputedOutput found = computed_output(c);
  EXPECT_FALSE(found.name);
  EXPECT_THAT(found.why_not, HasSubstr("matmul computes only one output"));
  EXPECT_THAT(found.why_not, HasSubstr("but the case has only one, two"));
  EXPECT_EQ(error_of([&] { (void)judged_case(c); }), "case several: " + found.why_not);
  c.outputs["two"].attributes["operator_output"] = std::int64_t{1};
  EXPECT_EQ(computed_output(c).name, "two");
  EXPECT_EQ(judged_case(c).output_name(), "two");
  c.outputs["one"].attributes["operator_output"] = std::int64_t{1};
  EXPECT_EQ(error_of([&] { (void)computed_output(c); }),
            "case several: its outputs 'one' and 'two' both have operator_output = 1; only one "
            "output may have it");
  c = two_outputs();
  c.op = "of_mine";
  EXPECT_EQ(computed_output(c).why_not, "assay does not know the operator 'of_mine'");
  EXPECT_THAT(error_of([&] { (void)gate_case(c, *c.outputs["one"].golden); }),
              StartsWith("case several: has several outputs; name one of them: one, two"));
  EXPECT_THAT(error_of([&] { (void)c.golden_tensor(); }),
              StartsWith("case several: has several outputs"));
  EXPECT_EQ(error_of([&] { (void)c.only("three"); }),
            "case several: has no output 'three'; its outputs are one, two");
  EXPECT_EQ(error_of([] {
              Case single;
              single.name = "single";
              (void)single.only("three");
            }),
            "case single: has no output 'three'; it has only one output, without a name");
}

TEST(OutputRefusals, ValuesOfIndicesAreAnOutput) {
  Case c = two_outputs();
  c.outputs["one"].attributes["operator_output"] = std::int64_t{1};
  c.outputs["two"].attributes["value_output"] = std::string("three");
  EXPECT_EQ(error_of([&] { (void)judged_case(c, "two"); }),
            "case several: the value_output of 'two' is 'three', which is not an output of the "
            "case; give one of one, two");
}

TEST(OutputRefusals, AReportSaysWhichOutputTheOperatorComputes) {
  Case c = two_outputs();
  const auto notes = [&](const std::string& output) {
    CaseReport report;
    report.verdicts.emplace_back();
    name_output(report, c, output);
    EXPECT_EQ(report.op, c.op);
    EXPECT_EQ(report.output, output);
    return report.verdicts[0].notes;
  };
  EXPECT_THAT(notes("one"), ElementsAre("judged only by standards: " + computed_output(c).why_not));
  c.outputs["two"].attributes["operator_output"] = std::int64_t{1};
  EXPECT_THAT(
      notes("one"),
      ElementsAre("judged only by standards: of the outputs of matmul, assay computes only two"));
  EXPECT_THAT(notes("two"), testing::IsEmpty());
  c.op = "of_mine";
  EXPECT_THAT(notes("one"), testing::IsEmpty());
}

TEST(OutputRefusals, IndicesPointIntoAnInput) {
  Case c = two_outputs();
  EXPECT_EQ(index_source(c, "indices").why_not,
            "indices need the attribute 'of': the input that they point into");
  c.attributes["of"] = std::string("x");
  EXPECT_EQ(index_source(c, "indices").why_not,
            "the attribute 'of' is 'x', which is not an input of the case; name the input that the "
            "indices point into");
  c.attributes["of"] = std::string("b");
  IndexSource source = index_source(c, "indices");
  EXPECT_EQ(source.tensor, &c.inputs.at("b"));
  EXPECT_EQ(source.axis, -1);
  EXPECT_EQ(index_source(c, "indices(flattened)").why_not, "");
  c.attributes["axis"] = std::int64_t{0};
  EXPECT_EQ(index_source(c, "indices").axis, 0);
  EXPECT_EQ(index_source(c, "indices(flattened)").why_not,
            "indices into the flattened input have no axis; leave the attribute out");
}

TEST(Remarks, HaveWordsOfTheirOwn) {
  EXPECT_EQ(remark_word(Remark::kNone), "");
  EXPECT_EQ(remark_word(Remark::kWorse), "worse");
  EXPECT_EQ(remark_word(Remark::kDisappeared), "disappeared");
  EXPECT_EQ(remark_word(Remark::kKnownFailure), "known_failure");
  EXPECT_EQ(remark_word(Remark::kUnexpectedPass), "unexpected_pass");
  EXPECT_EQ(remark_word(Remark::kExpired), "expired");
}

// No map of mismatches is drawn for sampled rows, because the sampled rows do not show where
// mismatches lie in the whole output.
TEST(SampledRefusals, NoMapOfMissesIsDrawn) {
  const Case c = open_product();
  GateRequest request = of_rows(6);
  request.mismatch_map = true;
  const CaseReport report = gate_case(c, filled_with("float32", {40, 4}, 9), request);
  EXPECT_EQ(report.verdicts.at(0).outcome, Outcome::kFail);
  EXPECT_FALSE(report.verdicts.at(0).mismatch_map);
}

}  // namespace
}  // namespace assay
