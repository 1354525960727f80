// Tests a gate report with everything besides plain verdicts: several files, remarks, checksums,
// corrupted outputs and errors. It is written as text, JSON, JUnit and page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/report.h"
#include "assay/report/html_data.h"
#include "document.h"
#include "report/samples.h"

namespace assay::report {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_samples::list;
using testing_samples::reported;

Bound of_standard(const char* name, double atol = 0) {
  Bound bound;
  bound.atol = atol;
  bound.standard = name;
  return bound;
}
Verdict passing() {
  return judge(list("float32", {1, 2}), list("float32", {1, 2}), of_standard("torch"));
}
Verdict failing() {
  return judge(list("float32", {1, 2.5}), list("float32", {1, 2}), of_standard("torch", 0.25));
}

CaseReport remarked(const std::string& name, Verdict verdict, Remark remark,
                    const std::string& text) {
  CaseReport c = reported(name, {std::move(verdict)}, {2});
  c.remark = remark;
  c.remark_text = text;
  return c;
}

// Returns the verdict on a row whose sum is off, because bit 30 of one element was flipped: it is
// 2^-127 instead of 3.
AbftVerdict flagged_row() {
  AbftVerdict v;
  v.outcome = Outcome::kFail;
  v.because = "1 of 2 checks is above its threshold";
  v.notes = {"read as float32"};
  v.checks = 2;
  v.flagged = 1;
  v.not_checkable = 1;
  v.right_specials = 4;
  v.blind = 5;
  v.confirmed_clean = 3;
  v.worst_ratio = 1.5;
  v.rms_z = std::nan("");
  v.spec = "v_abft";
  v.format = &format_named("float32");
  AbftFlag flag;
  flag.batch = 2;
  flag.index = 1;
  flag.first = 0;
  flag.last = 7;
  flag.reading.difference = 3;
  flag.reading.threshold = 2;
  flag.reading.variance = 0.25;
  const std::uint64_t repaired = encode(*v.format, 3), bits = repaired ^ (std::uint64_t{1} << 30);
  flag.element = {.row = 1,
                  .column = 4,
                  .bits = bits,
                  .actual = decode(*v.format, bits),
                  .reference = 3.25,
                  .flipped_bit = 30,
                  .repaired_bits = repaired};
  v.flags = {flag};
  return v;
}
AbftVerdict clean_checksums() {
  AbftVerdict v;
  v.because = "all 2 checks are within their thresholds";
  v.notes = {"no bias was recorded"};
  v.checks = 2;
  v.worst_ratio = 0.5;
  v.rms_z = 0.75;
  v.spec = "a_abft";
  v.format = &format_named("float32");
  return v;
}

GateReport everything() {
  GateReport report;
  report.golden_file = "f1.h5 f2.h5";
  report.files = {"f1.h5", "f2.h5"};
  report.command = "assay gate f1.h5 f2.h5";
  report.version = "0.2.0";
  report.note = "--standard torch over the case's own bound";
  report.notes = {"2 cases are new"};
  report.without_golden = {"extra/a", "extra/b"};
  CaseReport broken = reported("broken", {}, {});
  broken.error = "its golden result cannot be read";
  CaseReport product = reported("product", {passing()}, {2});
  product.abft = flagged_row();
  CaseReport sums = reported("sums", {}, {2});
  sums.abft = clean_checksums();
  sums.mutations = {
      {.name = "zeroed", .applied = true, .elementwise = Outcome::kFail, .abft = {}},
      {.name = "scaled", .applied = true, .elementwise = Outcome::kPass, .abft = Outcome::kPass},
      {.name = "swapped", .abft = {}}};
  CaseReport gone = reported("gone", {}, {});
  gone.remark = Remark::kDisappeared;
  gone.remark_text = "it was there, and is no more";
  gone.reproduce.clear();
  report.cases = {
      remarked("fine", passing(), Remark::kNone, ""),
      remarked("worse", passing(), Remark::kWorse, "rmse is 2e-3, and was 1e-3"),
      remarked("known", failing(), Remark::kKnownFailure, "ticket 7"),
      broken,
      product,
      sums,
      remarked("expired", failing(), Remark::kExpired, "excused until 2026-01-31"),
      remarked("better", passing(), Remark::kUnexpectedPass, "it is listed, and passes"),
      gone};
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    report.cases[i].file = report.files[i < 4 ? 0 : 1];
    report.cases[i].seconds = 0.5;
  }
  return report;
}

TEST(GateReportText, Everything) {
  EXPECT_EQ(
      gate_table(everything(), false, 100, false, {.strict = "--strict"}),
      "file   case     outcome          dtype    shape  producer    mismatches  max/bound  blind  "
      "max "
      "ulp  SNR dB  standard\n"
      "f1.h5  fine     pass             float32  [2]    ascend910b           0          0      0   "
      "    "
      " 0     inf  torch\n"
      "f1.h5  worse    worse            float32  [2]    ascend910b           0          0      0   "
      "    "
      " 0     inf  torch\n"
      "f1.h5  known    known_failure    float32  [2]    ascend910b           1          2      0  "
      "2097152      13  torch\n"
      "f1.h5  broken   error            float32  []     ascend910b           -          -      -   "
      "    "
      " -       -  -\n"
      "f2.h5  product  pass             float32  [2]    ascend910b           0          0      0   "
      "    "
      " 0     inf  torch\n"
      "f2.h5  product  fail             float32  [2]    ascend910b           1        1.5      -   "
      "    "
      " -       -  abft v_abft\n"
      "f2.h5  sums     pass             float32  [2]    ascend910b           0        0.5      -   "
      "    "
      " -       -  abft a_abft\n"
      "f2.h5  expired  expired          float32  [2]    ascend910b           1          2      0  "
      "2097152      13  torch\n"
      "f2.h5  better   unexpected_pass  float32  [2]    ascend910b           0          0      0   "
      "    "
      " 0     inf  torch\n"
      "f2.h5  gone     disappeared      float32  []     ascend910b           -          -      -   "
      "    "
      " -       -  -\n"
      "\n"
      "9 cases: 2 pass, 1 fail, 1 worse, 1 disappeared, 1 expired, 1 unexpected_pass, 1 "
      "known_failure, 1 error\n"
      "--standard torch over the case's own bound\n"
      "2 outputs without a golden result were not judged: extra/a, extra/b; --strict makes them "
      "not "
      "comparable\n"
      "note: 2 cases are new\n"
      "note: checksums: no bias was recorded\n"
      "\n"
      "f1.h5: broken: error: its golden result cannot be read\n"
      "reproduce: assay gate g.h5 --case broken\n"
      "\n"
      "f1.h5: worse: worse: rmse is 2e-3, and was 1e-3\n"
      "reproduce: assay gate g.h5 --case worse\n"
      "\n"
      "f2.h5: product: fail: abft: 1 of 2 checks is above its threshold; read as float32\n"
      "  matrix 2, row 1, columns 0 to 7: difference 3, threshold 2, difference / threshold 1.5, 6 "
      "standard deviations\n"
      "    element [1, 4]: actual 5.877472e-39 (0x00400000), the operands say 3.25; a flip of bit "
      "30 explains it: 3 (0x40400000)\n"
      "reproduce: assay gate g.h5 --case product\n"
      "\n"
      "f2.h5: expired: expired: excused until 2026-01-31\n"
      "1 of 2 elements (50.0 %) differs by more than atol 0.25 + rtol 0 * |expected|\n"
      "which are:\n"
      "  [1]: actual 2.5 (0x40200000), expected 2 (0x40000000), error 0.5, bound 0.25, 2 097 152 "
      "ulp\n"
      "would pass with rtol 0.125 (at this atol) or atol 0.5 (at this rtol)\n"
      "reproduce: assay gate g.h5 --case expired\n"
      "\n"
      "f2.h5: better: unexpected_pass: it is listed, and passes\n"
      "reproduce: assay gate g.h5 --case better\n"
      "\n"
      "f2.h5: gone: disappeared: it was there, and is no more\n");
}

// A known failure is not shown in red, the color of alarms. A remark that turns a result into a
// failure is.
TEST(GateReportText, ColorsOfRemarks) {
  const std::string table = gate_table(everything(), true);
  for (const char* alarm :
       {"worse", "expired", "unexpected_pass", "disappeared", "error", "fail"}) {
    EXPECT_THAT(table, HasSubstr(std::string("\x1b[31m") + alarm)) << alarm;
  }
  EXPECT_THAT(table, HasSubstr("\x1b[33mknown_failure"));
  EXPECT_THAT(table, HasSubstr("\x1b[32mpass"));
}

// If checksums could not be computed, they have neither flags nor a ratio.
TEST(GateReportText, ChecksumsWithoutAJudgement) {
  GateReport report;
  CaseReport c = reported("a", {}, {2});
  c.abft = AbftVerdict{};
  c.abft->outcome = Outcome::kNotComparable;
  c.abft->because = "no operands were recorded";
  c.abft->spec = "v_abft";
  report.cases = {c};
  const std::string table = gate_table(report, false);
  EXPECT_THAT(table,
              HasSubstr("\na     not_comparable  float32  [2]    ascend910b           -          "
                        "-      -        -       -  abft v_abft\n"));
  EXPECT_THAT(table, EndsWith("\na: not_comparable: abft: no operands were recorded\nreproduce: "
                              "assay gate g.h5 --case a\n"));
}

TEST(GateReportText, OfManyCasesThoseThatPassAreCounted) {
  GateReport report;
  const CaseReport pass = reported("p", {passing()}, {2}), fail = reported("f", {failing()}, {2});
  report.cases.assign(50, pass);
  report.cases.push_back(fail);
  EXPECT_THAT(gate_table(report, false),
              HasSubstr("\n... and 50 that pass, not shown\n\n51 cases: 50 pass, 1 fail\n"));
  EXPECT_THAT(gate_table(report, false, 5, false, {.all = "--all"}),
              HasSubstr("\n... and 50 that pass, not shown; --all lists every case\n\n51 cases: "));
  const auto rows = [](const std::string& table) {
    return std::count(table.begin(),
                      table.begin() + static_cast<std::ptrdiff_t>(table.find("\n\n")), '\n');
  };
  EXPECT_EQ(rows(gate_table(report, false)), 2) << "the head and the failure";
  EXPECT_EQ(rows(gate_table(report, false, 5, true)), 51);
  report.cases.assign(50, fail);
  report.cases.push_back(pass);
  EXPECT_THAT(gate_table(report, false), HasSubstr("\n... and 1 that passes, not shown\n"));
  report.cases.assign(51, pass);
  EXPECT_EQ(gate_table(report, false), "51 that pass, not shown\n\n51 cases: 51 pass\n");
  report.cases[3] = everything().cases[2];
  EXPECT_THAT(gate_table(report, false), HasSubstr("\nf1.h5  known"))
      << "a known failure has a row";
}

TEST(GateReportText, OutputsOfACase) {
  GateReport report;
  for (const char* output : {"y", "z"}) {
    report.cases.push_back(reported("a", {passing()}, {2}));
    report.cases.back().output = output;
  }
  report.cases.push_back(reported("b", {failing()}, {2}));
  EXPECT_EQ(gate_line(report), "2 cases of 3 outputs: 1 pass, 1 fail\n");
  EXPECT_THAT(gate_table(report, false), HasSubstr("\na:z   pass "));
}

TEST(GateReportText, OutputsWithoutAGoldenCase) {
  GateReport report;
  report.without_golden = {"a"};
  EXPECT_EQ(without_golden_text(report), "1 output without a golden result was not judged: a");
  EXPECT_EQ(without_golden_text(report, "--strict"),
            "1 output without a golden result was not judged: a; --strict makes it not comparable");
  report.without_golden.clear();
  for (int i = 0; i < 12; ++i) report.without_golden.push_back(formatted("c{}", i));
  EXPECT_EQ(
      without_golden_text(report, "--strict"),
      "12 outputs without a golden result were not judged: c0, c1, c2, c3, c4, c5, c6, c7, c8, "
      "c9 and 2 more; --strict makes them not comparable");
}

// The text shows each note once, and at most eight notes.
TEST(GateReportText, Notes) {
  GateReport report;
  for (int i = 0; i < 10; ++i) {
    Verdict v = passing();
    v.notes = {"of all", formatted("note {}", i)};
    report.cases.push_back(reported("a", {v}, {2}));
  }
  const std::string table = gate_table(report, false);
  EXPECT_THAT(table, HasSubstr("\nnote (10 times): of all\nnote: note 0\n"));
  EXPECT_THAT(table, EndsWith("\nnote: note 6\n... and 3 more notes; the JSON and the page have "
                              "them all\n"));
}

TEST(GateReportText, BlindnessThatTheCaseAllows) {
  Verdict v = passing();
  v.nonzero = 4;
  v.blind = 3;
  v.bound.max_blind = 0.9;
  v.bound.max_blind_why = "it is sparse";
  const std::string words =
      "the check is blind to 3 of the 4 elements that are not zero (75.0 %): as zeros they would "
      "pass equality";
  EXPECT_THAT(notes_of(v), ElementsAre(words + "; the case allows it: it is sparse"));
  EXPECT_EQ(blind_cell(v), "75.0 %");
  v.blind = 2;
  v.notes = {"another"};
  EXPECT_THAT(notes_of(v), ElementsAre(StartsWith("the check is blind to 2 of the 4"), "another"));
  v.blind = 0;
  EXPECT_THAT(notes_of(v), ElementsAre("another"));
}

TEST(GateReportText, Remarks) {
  CaseReport c = remarked("a", passing(), Remark::kWorse, "it was better");
  EXPECT_EQ(explain_remark(c), "it was better\nreproduce: assay gate g.h5 --case a");
  c.reproduce.clear();
  EXPECT_EQ(explain_remark(c), "it was better");
  c.verdicts = {passing(), failing()};
  EXPECT_EQ(explain_remark(c), "it was better\n" + explain(failing()));
  c.error = "cannot be read";
  EXPECT_EQ(explain_error(c), "cannot be read");
}

TEST(GateReportText, SpecialElementsOfChecksums) {
  AbftVerdict v = flagged_row();
  AbftFlag& flag = v.flags[0];
  flag.is_column = true;
  flag.batch = 0;
  flag.element->actual = HUGE_VAL;
  flag.element->flipped_bit.reset();
  v.notes.clear();
  v.from_golden = true;
  v.flagged = 1300;
  EXPECT_EQ(explain(v, "x"),
            "1 of 2 checks is above its threshold\n"
            "  column 1, rows 0 to 7: infinity in the output at [1, 4], golden says 3.25\n"
            "  ... and 1 299 more\n"
            "reproduce: x");
  flag.element->actual = -HUGE_VAL;
  EXPECT_THAT(explain(v), HasSubstr(": -infinity in the output at [1, 4]"));
  flag.element->actual = std::nan("");
  EXPECT_THAT(explain(v), HasSubstr(": NaN in the output at [1, 4]"));
}

TEST(GateReportJson, Everything) {
  const auto json = parsed(gate_json(everything()));
  EXPECT_EQ(json["golden"], parsed(R"(["f1.h5", "f2.h5"])"));
  EXPECT_EQ(json["outcome"], "error");
  EXPECT_EQ(json["note"], "--standard torch over the case's own bound");
  EXPECT_EQ(json["notes"], parsed(R"(["2 cases are new"])"));
  EXPECT_EQ(json["outputs_without_golden"], parsed(R"(["extra/a", "extra/b"])"));
  EXPECT_EQ(json["mutations"], parsed(R"({"applied": 2, "caught": 1, "fraction": 0.5})"));
  std::vector<std::string> words;
  for (const auto& c : json["cases"]) {
    words.push_back(c["case"].get<std::string>() + " " + c["outcome"].get<std::string>() + " " +
                    (c.contains("judged") ? c["judged"].get<std::string>() : "-") + " " +
                    c["file"].get<std::string>());
  }
  EXPECT_THAT(words,
              ElementsAre("fine pass - f1.h5", "worse worse pass f1.h5",
                          "known known_failure fail f1.h5", "broken error - f1.h5",
                          "product fail - f2.h5", "sums pass - f2.h5", "expired expired fail f2.h5",
                          "better unexpected_pass pass f2.h5", "gone disappeared  f2.h5"));
  EXPECT_EQ(json["cases"][1]["because"], "rmse is 2e-3, and was 1e-3");
  EXPECT_EQ(json["cases"][3]["because"], "its golden result cannot be read");
  EXPECT_EQ(json["cases"][4]["because"], "1 of 2 checks is above its threshold");
  EXPECT_EQ(json["cases"][4]["abft"], parsed(R"({"threshold": "v_abft", "outcome": "fail",
      "because": "1 of 2 checks is above its threshold", "notes": ["read as float32"],
      "checks": 2, "flagged": 1, "not_checkable": 1, "right_specials": 4, "blind": 5,
      "confirmed_clean": 3, "worst_ratio": 1.5, "rms_z": "nan",
      "flags": [{"batch": 2, "row": 1, "first": 0, "last": 7, "difference": 3.0, "threshold": 2.0,
                 "z": 6.0, "element": {"index": [1, 4], "actual": 5.877471754111438e-39,
                 "actual_bits": "0x00400000", "reference": 3.25, "flipped_bit": 30,
                 "repaired_bits": "0x40400000"}}]})"));
  EXPECT_EQ(json["cases"][5]["mutations"], parsed(R"([
      {"mutation": "zeroed", "applied": true, "elementwise": "fail", "caught": true},
      {"mutation": "scaled", "applied": true, "elementwise": "pass", "abft": "pass",
       "caught": false},
      {"mutation": "swapped", "applied": false}])"));
}

TEST(GateReportJson, ColumnsWithoutAnElement) {
  GateReport report = everything();
  CaseReport& c = report.cases[4];
  report.cases = {c};
  report.cases[0].output = "y";
  AbftFlag& flag = report.cases[0].abft->flags[0];
  flag.is_column = true;
  flag.element.reset();
  flag.reading.variance = std::nan("");
  const auto entry = parsed(gate_json(report))["cases"][0];
  EXPECT_EQ(entry["output_name"], "y");
  EXPECT_EQ(entry["abft"]["flags"][0], parsed(R"({"batch": 2, "column": 1, "first": 0, "last": 7,
      "difference": 3.0, "threshold": 2.0, "z": "nan"})"));
}

// Tests the JSON of a bound's fields other than its tolerance.
TEST(GateReportJson, Bounds) {
  const auto bound_of = [](const Bound& bound) {
    Verdict v = passing();
    v.bound = bound;
    return parsed(verdict_json(v))["bound"];
  };
  Bound b = of_standard("x", 0.5);
  b.or_ulps = 3;
  b.nan_accepts = true;
  b.infinity = Infinity::kFewer;
  b.small_value = 0.25;
  b.small_atol = 0.125;
  b.max_mismatches = 7;
  b.max_mismatch_fraction = 0.01;
  b.max_blind = 0.75;
  auto json = bound_of(b);
  EXPECT_EQ(json["or_ulps"], 3);
  EXPECT_EQ(json["nan_accepts"], true);
  EXPECT_EQ(json["infinity"], "fewer");
  EXPECT_EQ(json["small_value"], 0.25);
  EXPECT_EQ(json["small_atol"], 0.125);
  EXPECT_EQ(json["max_mismatches"], 7);
  EXPECT_EQ(json["max_mismatch_fraction"], 0.01);
  EXPECT_EQ(json["max_blind"], 0.75);
  b = of_standard("cutlass");
  for (const Rule rule : {Rule::kSymmetric, Rule::kLargest}) {
    b.rule = rule;
    b.rtol = 0.5;
    b.floor = 2;
    json = bound_of(b);
    EXPECT_EQ(json["rtol"], 0.5);
    EXPECT_EQ(json["floor"], 2);
    EXPECT_FALSE(json.contains("atol") || json.contains("or_ulps") || json.contains("max_blind"));
  }
  b.rule = Rule::kAccumulation;
  b.machine = "hopper";
  EXPECT_EQ(bound_of(b)["machine"], "hopper");
  b.rule = Rule::kDistribution;
  b.distribution = "normal";
  EXPECT_EQ(bound_of(b)["distribution"], "normal");
}

TEST(GateReportJunit, Everything) {
  EXPECT_EQ(gate_junit(everything()),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="f1.h5 f2.h5" tests="11" failures="5" errors="1" skipped="3" time="4.500">
<testsuite name="f1.h5" tests="6" failures="1" errors="1" skipped="3" time="2.000">
  <testcase classname="matmul" name="fine" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
  </testcase>
  <testcase classname="matmul" name="worse" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
    <failure type="worse" message="rmse is 2e-3, and was 1e-3">rmse is 2e-3, and was 1e-3
reproduce: assay gate g.h5 --case worse</failure>
  </testcase>
  <testcase classname="matmul" name="known" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
    <skipped message="known failure: ticket 7">reproduce: assay gate g.h5 --case known</skipped>
  </testcase>
  <testcase classname="matmul" name="broken" time="0.500">
    <error type="error" message="its golden result cannot be read">its golden result cannot be read
reproduce: assay gate g.h5 --case broken</error>
  </testcase>
  <testcase classname="" name="extra/a" time="0.000">
    <skipped message="an output without a golden result"/>
  </testcase>
  <testcase classname="" name="extra/b" time="0.000">
    <skipped message="an output without a golden result"/>
  </testcase>
</testsuite>
<testsuite name="f2.h5" tests="5" failures="4" errors="0" time="2.500">
  <testcase classname="matmul" name="product" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
    <failure type="fail" message="1 of 2 checks is above its threshold">1 of 2 checks is above its threshold; read as float32
  matrix 2, row 1, columns 0 to 7: difference 3, threshold 2, difference / threshold 1.5, 6 standard deviations
    element [1, 4]: actual 5.877472e-39 (0x00400000), the operands say 3.25; a flip of bit 30 explains it: 3 (0x40400000)
reproduce: assay gate g.h5 --case product</failure>
  </testcase>
  <testcase classname="matmul" name="sums" time="0.500"/>
  <testcase classname="matmul" name="expired" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
    <failure type="expired" message="excused until 2026-01-31">excused until 2026-01-31
1 of 2 elements (50.0 %) differs by more than atol 0.25 + rtol 0 * |expected|
which are:
  [1]: actual 2.5 (0x40200000), expected 2 (0x40000000), error 0.5, bound 0.25, 2 097 152 ulp
would pass with rtol 0.125 (at this atol) or atol 0.5 (at this rtol)
reproduce: assay gate g.h5 --case expired</failure>
  </testcase>
  <testcase classname="matmul" name="better" time="0.500">
    <properties>
      <property name="standard" value="torch"/>
    </properties>
    <failure type="unexpected_pass" message="it is listed, and passes">it is listed, and passes
reproduce: assay gate g.h5 --case better</failure>
  </testcase>
  <testcase classname="matmul" name="gone" time="0.500">
    <failure type="disappeared" message="it was there, and is no more">it was there, and is no more</failure>
  </testcase>
</testsuite>
</testsuites>
)");
}

// JUnit has the notes of passing cases.
TEST(GateReportJunit, NotesOfAPass) {
  GateReport report;
  report.golden_file = "g.h5";
  Verdict v = passing();
  v.bound.standard.clear();
  v.notes = {"a < b", "c"};
  report.cases = {reported("a", {v}, {2})};
  EXPECT_EQ(gate_junit(report),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"g.h5\" tests=\"1\" failures=\"0\" errors=\"0\" time=\"0.000\">\n"
            "  <testcase classname=\"matmul\" name=\"a\" time=\"0.000\">\n"
            "    <system-out>a &lt; b\nc\n</system-out>\n"
            "  </testcase>\n"
            "</testsuite>\n");
}

std::int64_t times(const std::string& page, const std::string& part) {
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = page.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST(GateReportPage, Everything) {
  const std::string page = gate_html(everything());
  for (const char* part :
       {"<h1>Precision gate: <span class=fail>error</span></h1>",
        "<div class=card><b class=fail>1</b>unexpected pass</div>",
        "<div class=card><b class=warn>1</b>known failures</div>",
        "<dt>files</dt><dd><code>f1.h5</code><br><code>f2.h5</code></dd>",
        "<dt>standards</dt><dd>torch (6), abft a_abft (1), abft v_abft (1)</dd>",
        "<p>--standard torch over the case&#39;s own bound</p>",
        "<p>2 outputs without a golden result were not judged: extra/a, extra/b</p>",
        "<h3><code>known</code>: <span class=warn>known_failure</span></h3>\n<pre>ticket 7\n1 of 2 "
        "elements",
        "<h3><code>better</code>: <span class=fail>unexpected_pass</span></h3>\n<pre>it is listed, "
        "and passes\n",
        "<h3><code>product</code>: <span class=fail>checksums: fail</span></h3>\n<pre>1 of 2 "
        "checks is above its threshold; read as float32\n  matrix 2, row 1, columns 0 to 7: "
        "difference 3",
        "<td><code>f2.h5</code></td><td><code>product</code></td><td class=fail><b>fail</b></td>"
        "<td>float32 [2]</td><td>ascend910b</td><td class=num>1</td><td class=num>1.5</td>"
        "<td class=num>-</td><td class=num>-</td><td class=num>-</td><td class=num>-</td>"
        "<td>abft v_abft</td></tr>",
        "<tr><td><code>f2.h5</code></td><td><code>gone</code></td><td "
        "class=fail><b>disappeared</b></td></tr>",
        "<tr>"
        "<th>file<th>case<th>outcome"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_EQ(times(page, "<h3><code>sums</code>"), 0) << "it passes";
}

// A row of the page's data has the name, file, outcome, mismatches, ratio, bound, note, rank and
// kind.
TEST(GateReportPage, Data) {
  const auto data = parsed(gate_data_json(everything()));
  EXPECT_EQ(data["several_files"], true);
  std::vector<std::string> rows;
  for (const auto& row : data["rows"]) {
    std::string text;
    for (const std::size_t place : {0u, 1u, 3u, 6u, 7u, 12u, 13u}) {
      text += data["strings"][row[place].get<std::size_t>()].get<std::string>() + "|";
    }
    rows.push_back(text + formatted("{} {}", row[14].get<int>(), row[15].get<int>()));
  }
  EXPECT_THAT(
      rows,
      ElementsAre("fine|f1.h5|pass|0|0|torch: equality||5 0",
                  "worse|f1.h5|worse|0|0|torch: equality||1 2",
                  "known|f1.h5|known_failure|1|2|torch: atol 0.25 + rtol 0 * |expected|||4 1",
                  "broken|f1.h5|error|-|-|-||0 2", "product|f2.h5|pass|0|0|torch: equality||5 0",
                  "product|f2.h5|fail|1|1.5|abft v_abft|read as float32|1 2",
                  "sums|f2.h5|pass|0|0.5|abft a_abft|no bias was recorded|5 0",
                  "expired|f2.h5|expired|1|2|torch: atol 0.25 + rtol 0 * |expected|||1 2",
                  "better|f2.h5|unexpected_pass|0|0|torch: equality||1 2",
                  "gone|f2.h5|disappeared|-|-|-||1 2"));
  const auto detail = [&](std::size_t row) -> nlohmann::json {
    const int number = data["rows"][row].back().get<int>();
    return number < 0 ? nlohmann::json() : data["details"][static_cast<std::size_t>(number)];
  };
  EXPECT_EQ(detail(0), nlohmann::json());
  EXPECT_EQ(detail(1)["remark"], "rmse is 2e-3, and was 1e-3");
  EXPECT_EQ(detail(2)["remark"], "ticket 7");
  EXPECT_THAT(detail(2)["why"].get<std::string>(), StartsWith("1 of 2 elements (50.0 %) differs"));
  EXPECT_EQ(detail(3)["why"], "its golden result cannot be read");
  EXPECT_EQ(detail(4), nlohmann::json());
  EXPECT_EQ(detail(5)["why"], "checksums");
  EXPECT_EQ(detail(5)["text"], explain(flagged_row()));
  EXPECT_EQ(detail(6), nlohmann::json());
  EXPECT_EQ(detail(9), parsed(R"({"why": "it was there, and is no more"})"));
}

// A remark on checksums that pass is reported, too.
TEST(GateReportPage, ARemarkIsSaidSomewhere) {
  GateReport report = everything();
  CaseReport sums = report.cases[5];
  sums.remark = Remark::kUnexpectedPass;
  sums.remark_text = "it is listed for its checksums";
  report.cases = {sums};
  const auto data = parsed(gate_data_json(report));
  ASSERT_EQ(data["details"].size(), 1u);
  EXPECT_EQ(data["details"][0]["why"], "it is listed for its checksums");
  EXPECT_EQ(data["rows"][0].back(), 0);
}

// The map shows mismatches by blocks. For 64 x 96 elements, a block has two rows and three columns.
TEST(GateReportPage, MapsOfMisses) {
  std::vector<double> values(64 * 96, 0);
  const Tensor golden = Tensor::from_values(format_named("float32"), {64, 96}, values);
  values[0] = values[1] = 1;
  values[63 * 96 + 95] = 1;
  JudgeOptions options;
  options.mismatch_map = true;
  GateReport report;
  report.cases = {reported("a",
                           {judge(Tensor::from_values(format_named("float32"), {64, 96}, values),
                                  golden, of_standard("x", 0.5), options)},
                           {64, 96})};
  EXPECT_EQ(parsed(gate_data_json(report))["details"][0]["map"],
            parsed("[64, 96, 2, 3, 32, [0, 2, 1023, 1]]"));
}

// Long lists of the overview are cut.
TEST(GateReportPage, LongListsAreCut) {
  GateReport report;
  for (int i = 0; i < 25; ++i) report.files.push_back(formatted("f{}.h5", i));
  const Verdict nothing = not_comparable("nothing there");
  for (int i = 0; i < 202; ++i) {
    CaseReport c = reported(formatted("c{}", i), {i % 2 == 0 ? nothing : failing()}, {2});
    c.op = formatted("op{}", i);
    c.producer = formatted("p{}", i % 13);
    report.cases.push_back(c);
  }
  const std::string page = gate_html(report);
  EXPECT_THAT(page, HasSubstr("<code>f19.h5</code><br>and 5 more</dd>"));
  EXPECT_THAT(page, HasSubstr("<p>... and 2 more operators, which are in the table of cases.</p>"));
  EXPECT_THAT(page, HasSubstr("<details><summary>202 operators</summary>"));
  // There are 13 producers of 15 or 16 outputs. The most frequent ones come first, and twelve are
  // named.
  EXPECT_THAT(page, HasSubstr("<dt>producers</dt><dd>p0 (16), p1 (16), p2 (16), p3 (16), p4 (16), "
                              "p5 (16), p6 (16), p10 (15), p11 (15), p12 (15), p7 (15), p8 (15), 1 "
                              "more</dd>"));
  // Cases without a number come last in the charts, so that all 40 bars are those of failures.
  EXPECT_EQ(times(page, "<rect"), 2 * 40);
  EXPECT_EQ(times(page, "<title>c0:"), 0);
  EXPECT_THAT(page, HasSubstr("the worst 40 of 202"));
}

// The reason stands in the row that decides, even if it is the row of the checksums.
TEST(GateData, TheReasonOfARemarkThatChecksumsDecide) {
  for (const Remark remark : {Remark::kKnownFailure, Remark::kExpired}) {
    GateReport report;
    CaseReport& c = report.cases.emplace_back(remarked("known", passing(), remark, "ticket 7"));
    c.abft = flagged_row();
    const std::string data = gate_data_json(report);
    EXPECT_THAT(data, HasSubstr("ticket 7"));
    EXPECT_EQ(data.find("ticket 7"), data.rfind("ticket 7")) << "said once";
  }
}

TEST(GateData, ChecksumsThatJudgedNothingHaveNoNumbers) {
  GateReport report;
  CaseReport& c = report.cases.emplace_back();
  c.name = "a";
  c.abft = AbftVerdict{};
  c.abft->outcome = Outcome::kNotComparable;
  c.abft->because = "no operands were recorded";
  c.abft->spec = "v_abft";
  EXPECT_THAT(gate_data_json(report), Not(HasSubstr("\"0\"")));
  EXPECT_THAT(gate_html(report), HasSubstr("<td class=num>-</td><td class=num>-</td>"));
}

}  // namespace
}  // namespace assay::report
