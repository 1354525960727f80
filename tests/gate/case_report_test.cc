// Tests how a report sums up its cases.
#include "assay/gate/case_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "assay/gate/gate.h"

namespace assay {
namespace {

CaseReport of_output(const std::string& name, const std::string& output, Outcome outcome) {
  CaseReport c;
  c.name = name;
  c.output = output;
  Verdict v;
  v.outcome = outcome;
  c.verdicts.push_back(v);
  return c;
}

// The list holds one report of each case: its worst output. It includes the last case of the
// report.
TEST(WorstOutputs, OneOfEachCase) {
  GateReport report;
  EXPECT_TRUE(worst_outputs(report).empty());
  report.cases = {of_output("x", "values", Outcome::kPass),
                  of_output("x", "indices", Outcome::kFail), of_output("y", "", Outcome::kPass),
                  of_output("z", "values", Outcome::kFail),
                  of_output("z", "indices", Outcome::kPass)};
  const std::vector<const CaseReport*> worst = worst_outputs(report);
  ASSERT_EQ(worst.size(), 3u);
  EXPECT_EQ(worst[0], &report.cases[1]);
  EXPECT_EQ(worst[1], &report.cases[2]);
  EXPECT_EQ(worst[2], &report.cases[3]);
}

// The place of a mismatch is its place in the whole output, both as a position and as an index.
// Here the value of each element gives its place.
TEST(SampledRows, MissesLieWhereTheyLieInTheWholeOutput) {
  constexpr std::int64_t kRows = 40, kColumns = 4;
  Case c;
  c.name = "p";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  const Format& half = format_named("float16");
  c.inputs["a"] = Tensor::from_values(half, {kRows, 8}, std::vector<double>(kRows * 8, 0.5));
  c.inputs["b"] = Tensor::from_values(half, {8, kColumns}, std::vector<double>(8 * kColumns, 2));
  std::vector<double> wrong;
  for (int i = 0; i < kRows * kColumns; ++i) wrong.push_back(1000 + i);
  GateRequest request;
  request.sample = RowSample{.rows = 5, .seed = 3};
  const CaseReport report =
      gate_case(c, Tensor::from_values(format_named("float32"), {kRows, kColumns}, wrong), request);
  const Verdict& v = report.verdicts.at(0);
  EXPECT_EQ(v.outcome, Outcome::kFail);
  EXPECT_EQ(v.mismatches, 5 * kColumns);
  EXPECT_EQ(v.where, "") << "the rows drawn have no pattern in the whole output";
  ASSERT_FALSE(v.worst.empty());
  std::int64_t last = 0;
  for (const Mismatch& mismatch : v.worst) {
    const auto place = static_cast<std::int64_t>(mismatch.actual) - 1000;
    EXPECT_EQ(mismatch.linear, place);
    EXPECT_THAT(mismatch.index, testing::ElementsAre(place / kColumns, place % kColumns));
    last = std::max(last, place / kColumns);
  }
  EXPECT_GE(last, 5) << "the rows drawn are not the first ones alone";
}

// If the sample leaves out a row, the report says what the sample leaves open. If it has all rows,
// the report says nothing.
TEST(SampledRows, SayWhatTheyLeaveOpen) {
  Case c;
  c.name = "p";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string("float32");
  const Format& half = format_named("float16");
  c.inputs["a"] = Tensor::from_values(half, {10, 2}, std::vector<double>(20, 0.5));
  c.inputs["b"] = Tensor::from_values(half, {2, 3}, std::vector<double>(6, 1));
  const Tensor output =
      Tensor::from_values(format_named("float32"), {10, 3}, std::vector<double>(30, 1));
  for (const std::int64_t rows : {1, 9, 10, 11}) {
    GateRequest request;
    request.sample = RowSample{.rows = rows, .seed = 3};
    const Verdict v = gate_case(c, output, request).verdicts.at(0);
    EXPECT_EQ(v.outcome, Outcome::kPass);
    const auto said = std::count_if(v.notes.begin(), v.notes.end(), [](const std::string& note) {
      return note.find("rows") != std::string::npos;
    });
    EXPECT_EQ(said, rows < 10 ? 1 : 0) << rows;
  }
}

// If a case has several verdicts, the case's remark gives the word of the verdict that decides. The
// other verdicts keep their own words.
TEST(CaseReportWords, TheDecidingVerdictHasTheRemarks) {
  CaseReport c = of_output("x", "", Outcome::kPass);
  c.verdicts.push_back(of_output("x", "", Outcome::kFail).verdicts[0]);
  EXPECT_EQ(c.outcome_text(Outcome::kPass), "pass");
  EXPECT_EQ(c.outcome_text(Outcome::kFail), "fail");
  c.remark = Remark::kKnownFailure;
  EXPECT_EQ(c.outcome_text(Outcome::kPass), "pass");
  EXPECT_EQ(c.outcome_text(Outcome::kFail), "known_failure");
}

}  // namespace
}  // namespace assay
