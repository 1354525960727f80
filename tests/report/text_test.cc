// Tests the texts for people: the failure text, the metrics and the gate's table.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/report.h"
#include "report/samples.h"

namespace assay::report {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing_samples::list;
using testing_samples::reported;

Tensor tensor(const char* dtype, Shape shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), std::move(shape), values);
}
Bound tolerance(double atol, double rtol) {
  Bound bound;
  bound.atol = atol;
  bound.rtol = rtol;
  bound.standard = "custom";
  return bound;
}
Bound of_rule(Rule rule, std::uint64_t ulps = 0) {
  Bound bound;
  bound.rule = rule;
  bound.ulps = ulps;
  return bound;
}

TEST(Explain, OneMiss) {
  const Verdict v = judge(tensor("float32", {2, 2}, {1, 2, 3, 4.5}),
                          tensor("float32", {2, 2}, {1, 2, 3, 4}), tolerance(1e-3, 1e-3));
  EXPECT_EQ(explain(v),
            "1 of 4 elements (25.0 %) differs by more than atol 0.001 + rtol 0.001 * |expected|\n"
            "which are:\n"
            "  [1, 1]: actual 4.5 (0x40900000), expected 4 (0x40800000), error 0.5, bound 0.005, "
            "1 048 576 ulp\n"
            "would pass with rtol 0.125 (at this atol) or atol 0.496 (at this rtol)");
  EXPECT_EQ(explain(v, "assay gate x.h5 --case a"),
            explain(v) + "\nreproduce: assay gate x.h5 --case a");
}

TEST(Explain, ManyMissesListTheWorst) {
  const Verdict v = judge(list("bfloat16", {1, 1, 1, 1, 1, 1, 1, 9}),
                          list("bfloat16", {2, 3, 4, 5, 6, 7, 8, 9}), tolerance(1e-3, 0));
  EXPECT_EQ(explain(v),
            "7 of 8 elements (87.5 %) differ by more than atol 0.001 + rtol 0 * |expected|\n"
            "worst 5:\n"
            "  [6]: actual 1 (0x3f80), expected 8 (0x4100), error 7, bound 0.001, 384 ulp\n"
            "  [5]: actual 1 (0x3f80), expected 7 (0x40e0), error 6, bound 0.001, 352 ulp\n"
            "  [4]: actual 1 (0x3f80), expected 6 (0x40c0), error 5, bound 0.001, 320 ulp\n"
            "  [3]: actual 1 (0x3f80), expected 5 (0x40a0), error 4, bound 0.001, 288 ulp\n"
            "  [2]: actual 1 (0x3f80), expected 4 (0x4080), error 3, bound 0.001, 256 ulp\n"
            "where: a run of 7 elements from position 0; the output is 1 (0x3f80) at 7 of 7 "
            "mismatches: were they ever written?\n"
            "would pass with rtol 0.875 (at this atol) or atol 7 (at this rtol)");
}

TEST(Explain, SpecialValues) {
  const Verdict v = judge(list("float16", {kNan, -kInfinity, 1, kInfinity}),
                          list("float16", {1, 3, 1, kInfinity}), tolerance(1e-3, 1e-3));
  const std::string text = explain(v);
  EXPECT_THAT(text, HasSubstr("2 of 4 elements (50.0 %) differ by more than"));
  EXPECT_THAT(text, HasSubstr("\n  [0]: actual nan (0x7e00), expected 1 (0x3c00), error NaN"));
  EXPECT_THAT(text, HasSubstr("\n  [1]: actual -inf (0xfc00), expected 3 (0x4200), error inf"));
  EXPECT_THAT(text, HasSubstr("\nspecial values: actual 1 NaN, 1 +inf, 1 -inf; expected 1 +inf\n"));
  EXPECT_THAT(text, EndsWith("\nno tolerance would pass: NaN or infinity differ"));
  EXPECT_THAT(text, Not(HasSubstr("would pass with")));
}

TEST(Explain, ExactRules) {
  EXPECT_EQ(
      explain(judge(list("float32", {0, 2}), list("float32", {-0.0, 2}), of_rule(Rule::kBits))),
      "1 of 2 elements (50.0 %) differs in its bits\n"
      "which are:\n"
      "  [0]: actual 0 (0x00000000), expected -0 (0x80000000), error 0, 0 ulp");
  EXPECT_EQ(explain(judge(list("float16", {1.5, 2}), list("float16", {1.25, 2}),
                          of_rule(Rule::kUlps, 4))),
            "1 of 2 elements (50.0 %) differs by more than 4 ulp\n"
            "which are:\n"
            "  [0]: actual 1.5 (0x3e00), expected 1.25 (0x3d00), error 0.25, 256 ulp\n"
            "would pass with ulp(256)");
  EXPECT_THAT(explain(judge(list("int32", {1, 2, -7}), list("int32", {1, 3, 7}), tolerance(0, 0))),
              HasSubstr("2 of 3 elements (66.7 %) differ\n"
                        "which are:\n"
                        "  [2]: actual -7, expected 7, error 14, bound 0, 14 ulp\n"
                        "  [1]: actual 2, expected 3, error 1, bound 0, 1 ulp"));
}

// If zero is expected, no rtol accepts an error, so none is offered.
TEST(Explain, ErrorAtZero) {
  EXPECT_THAT(explain(judge(list("float32", {0.5, 2}), list("float32", {0, 2}), tolerance(0, 0))),
              EndsWith("\nwould pass with atol 0.5 (at this rtol)"));
}

TEST(Explain, TheCasesOwnBound) {
  Bound own = tolerance(1e-3, 0);
  own.origin = "case";
  EXPECT_THAT(explain(judge(list("float32", {1, 3}), list("float32", {1, 2}), own)),
              HasSubstr("atol 0.001 + rtol 0 * |expected| (the case's own bound)\n"));
  // A pass does not mention the origin of its bound.
  EXPECT_EQ(explain(judge(list("float32", {1, 2}), list("float32", {1, 2}), own)),
            "all 2 elements within atol 0.001 + rtol 0 * |expected|");
}

TEST(Explain, WithoutElementsToShow) {
  EXPECT_EQ(explain(not_comparable("no output was recorded")), "no output was recorded");
  EXPECT_EQ(explain(judge(list("float32", {}), list("float32", {}), tolerance(1, 1))),
            "there are no elements to compare");
}

TEST(Explain, LongTensorsAreNotPrintedWhole) {
  const std::vector<double> a(100000, 2), e(100000, 1);
  const std::string text =
      explain(judge(list("float64", a), list("float64", e), tolerance(1e-3, 1e-3)));
  EXPECT_LT(text.size(), 900u);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 8);
}

// Both values are shown as they were compared. A golden result that is not rounded is shown
// unrounded.
TEST(Explain, ShowsTheExpectedValueThatWasCompared) {
  Bound bound = tolerance(0, 1e-6);
  bound.round_expected = false;
  const std::string text =
      explain(judge(list("float16", {1, 2}), list("float64", {1 + 0x1p-12, 2}), bound));
  EXPECT_THAT(text, HasSubstr("expected 1.000244"));
  EXPECT_THAT(explain(judge(list("int32", {3, 2}), list("float64", {3.25, 2}), bound)),
              HasSubstr("expected 3.25"));
}

// The bound of an infinite or NaN expected value is not printed.
TEST(Explain, NoBoundWhereNoneApplies) {
  const std::string text =
      explain(judge(list("float16", {65504, 1, 2}), list("float16", {kInfinity, kNan, 2}),
                    tolerance(1e-3, 1e-3)));
  EXPECT_THAT(text, Not(HasSubstr("1.798e+308")));
  EXPECT_THAT(text, Not(HasSubstr("bound nan")));
}

// A tolerance that the text offers passes, as printed.
TEST(Explain, TheToleranceOfferedPasses) {
  Random random(1, 2);
  int rtol_short = 0, atol_short = 0;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> e(20), a(20);
    for (std::size_t i = 0; i < 20; ++i) {
      e[i] = random.normal();
      a[i] = e[i] * (1 + 0.01 * random.normal());
    }
    const Tensor actual = list("float32", a), expected = list("float32", e);
    const std::string text = explain(judge(actual, expected, tolerance(1e-5, 1e-5)));
    const std::size_t at = text.find("would pass with");
    double rtol = 0, atol = 0;
    ASSERT_EQ(std::sscanf(text.c_str() + std::min(at, text.size()),
                          "would pass with rtol %lf (at this atol) or atol %lf", &rtol, &atol),
              2)
        << text;
    rtol_short += judge(actual, expected, tolerance(1e-5, rtol)).mismatches > 0 ? 1 : 0;
    atol_short += judge(actual, expected, tolerance(atol, 1e-5)).mismatches > 0 ? 1 : 0;
  }
  EXPECT_EQ(rtol_short, 0) << "of 100 rtol offered do not pass";
  EXPECT_EQ(atol_short, 0) << "of 100 atol offered do not pass";
}

// No tolerance is offered for NaN, even if no element is listed.
TEST(Explain, NoToleranceIsOfferedForNan) {
  JudgeOptions options;
  for (const std::size_t worst : {std::size_t{5}, std::size_t{0}}) {
    options.worst = worst;
    const std::string text = explain(judge(
        list("float32", {kNan, 2, 3}), list("float32", {1, 2, 1}), tolerance(1e-3, 1e-3), options));
    EXPECT_THAT(text, EndsWith("\nno tolerance would pass: NaN or infinity differ")) << worst;
  }
}

// An offered number of ulps passes. No number of ulps turns infinity or NaN into a finite number.
TEST(Explain, TheUlpsOfferedPass) {
  const auto check = [](const std::vector<double>& actual, const std::vector<double>& expected) {
    const Tensor a = list("float16", actual), e = list("float16", expected);
    const std::string text = explain(judge(a, e, of_rule(Rule::kUlps, 0)));
    const std::size_t at = text.find("would pass with ulp(");
    if (at == std::string::npos) return;
    const std::uint64_t ulps = std::stoull(text.substr(at + 20));
    EXPECT_EQ(judge(a, e, of_rule(Rule::kUlps, ulps)).mismatches, 0) << text;
  };
  check({1.5, 2}, {1.25, 2});
  check({kInfinity, 2}, {65504, 2});
  check({kNan, 1, 3}, {1, kNan, 2});
  check({kNan, 3}, {kNan, 2});
}

TEST(MetricsText, Lines) {
  const Verdict v = judge(tensor("float32", {2, 2}, {1, 2, 3, 4.5}),
                          tensor("float32", {2, 2}, {1, 2, 3, 4}), tolerance(1e-3, 1e-3));
  EXPECT_EQ(metrics_text(v),
            "  elements            4 (4 with both sides finite)\n"
            "  mismatches          1 (25.0 %)\n"
            "  blind               0 of the 4 elements that are not zero\n"
            "  bit-identical       no\n"
            "  max abs error       0.5 at [1, 1]\n"
            "  mean abs error      0.125 (median 0, p99 0.5)\n"
            "  max rel error       0.125 at [1, 1]\n"
            "  mean rel error      0.03125 (median 0, p99 0.125)\n"
            "  MERE, MARE          0.03125, 0.125\n"
            "  RMSE                0.25\n"
            "  bias                0.125\n"
            "  error balance       0.03125\n"
            "  max ulp             1048576\n"
            "  mean ulp            262144 (p99 1.04858e+06; over 1 ulp 1, over 32 ulp 1)\n"
            "  SNR                 20.79 dB\n"
            "  PSNR                24.08 dB\n"
            "  cosine              0.998295384\n"
            "  relative L2         0.09129\n"
            "  diff1, diff2        0.05, 0.09129\n"
            "  DeepGEMM diff       0.003891\n"
            "  would pass with     rtol 0.125 at atol 0.001, or atol 0.496 at rtol 0.001\n"
            "  special values      actual none; expected none\n"
            "  zeros, subnormals   actual 0, 0; expected 0, 0\n");
  EXPECT_EQ(metrics_text(not_comparable("")), "");
}

// If rounding moves an expected value, the errors are not 0 although the bits are equal. The text
// says which lines count after rounding.
TEST(MetricsText, SaysWhatIsComparedWithRoundedValues) {
  const std::string rounded = " (with the expected values rounded to float32)\n";
  const std::string moved =
      metrics_text(judge(list("float32", {0.1, 2}), list("float64", {0.1, 2}), tolerance(1, 1)));
  EXPECT_THAT(moved, HasSubstr("  max abs error       1.49e-09 at [0]\n"));
  EXPECT_THAT(moved, HasSubstr("  bit-identical       yes" + rounded));
  EXPECT_THAT(moved, HasSubstr("  max ulp             0" + rounded));
  const std::string exact =
      metrics_text(judge(list("float32", {0.5, 2}), list("float64", {0.5, 2}), tolerance(1, 1)));
  EXPECT_THAT(exact, HasSubstr("  bit-identical       yes\n"));
  EXPECT_THAT(exact, HasSubstr("  max ulp             0\n"));
  const std::string complex = metrics_text(judge(
      tensor("complex64", {1}, {0.1, 2}), tensor("complex128", {1}, {0.1, 2}), tolerance(1, 1)));
  EXPECT_THAT(complex, HasSubstr("  bit-identical       no\n"));
}

TEST(MetricsText, OffersNothingThatWouldNotPass) {
  EXPECT_THAT(metrics_text(judge(list("float32", {kNan, 1}), list("float32", {1, 1}),
                                 tolerance(1e-3, 1e-3))),
              Not(HasSubstr("rtol 0 at")));
  EXPECT_THAT(
      metrics_text(judge(list("float32", {0.5, 1}), list("float32", {0, 1}), tolerance(0, 0))),
      Not(HasSubstr("rtol inf")));
}

GateReport four_cases() {
  const Tensor golden = tensor("float32", {2, 2}, {1, 2, 3, 4});
  Bound own = tolerance(1e-3, 1e-3), torch = own;
  own.origin = "case";
  torch.standard = "torch";
  Verdict missing = not_comparable("it has no recorded output of 'ascend910b'");
  missing.bound.standard = "torch";
  GateReport report;
  report.golden_file = "g.h5";
  report.cases = {
      reported("matmul/a", {judge(tensor("float32", {2, 2}, {1, 2, 3, 4.5}), golden, own)}),
      reported("b", {judge(Tensor(golden), golden, torch)}), reported("cc", {missing}),
      reported("d", {judge(list("float32", {0, 0}), list("float32", {0, 0}), torch)}, {2})};
  return report;
}

TEST(GateTable, FourCases) {
  EXPECT_EQ(
      gate_table(four_cases(), false),
      "case      outcome         dtype    shape   producer    mismatches  max/bound  blind  max "
      "ulp  "
      "SNR dB  standard\n"
      "matmul/a  fail            float32  [2, 2]  ascend910b           1        100      0  "
      "1048576    "
      "20.8  case's own\n"
      "b         pass            float32  [2, 2]  ascend910b           0          0      0        "
      "0    "
      " "
      "inf  torch\n"
      "cc        not_comparable  float32  [2, 2]  ascend910b           -          -      -        "
      "-    "
      "   "
      "-  torch\n"
      "d         untrusted       float32  [2]     ascend910b           0          0      -        "
      "0    "
      " "
      "inf  torch\n"
      "\n"
      "4 cases: 1 pass, 1 fail, 1 untrusted, 1 not_comparable\n"
      "\n"
      "matmul/a: fail: 1 of 4 elements (25.0 %) differs by more than atol 0.001 + rtol 0.001 * "
      "|expected| (the case's own bound)\n"
      "which are:\n"
      "  [1, 1]: actual 4.5 (0x40900000), expected 4 (0x40800000), error 0.5, bound 0.005, 1 048 "
      "576 ulp\n"
      "would pass with rtol 0.125 (at this atol) or atol 0.496 (at this rtol)\n"
      "reproduce: assay gate g.h5 --case matmul/a\n"
      "\n"
      "cc: not_comparable: it has no recorded output of 'ascend910b'\n"
      "reproduce: assay gate g.h5 --case cc\n"
      "\n"
      "d: untrusted: an output of zeros would pass too: the expected result is within atol 0.001 + "
      "rtol 0.001 * |expected| everywhere\n"
      "reproduce: assay gate g.h5 --case d\n");
}

TEST(GateTable, ExplainsOnlySoMany) {
  EXPECT_THAT(gate_table(four_cases(), false, 1),
              EndsWith("reproduce: assay gate g.h5 --case matmul/a\n\n"
                       "... and 2 more that did not pass; the JSON and the page list them all\n"));
  EXPECT_THAT(gate_table(four_cases(), false, 0), Not(HasSubstr("reproduce:")));
}

TEST(GateTable, OneCaseAndNone) {
  GateReport report = four_cases();
  report.cases.resize(2);
  report.cases.erase(report.cases.begin());
  EXPECT_THAT(gate_table(report, false), EndsWith("\n\n1 case: 1 pass\n"));
  const std::string none = gate_table(GateReport{}, false);
  EXPECT_THAT(none, HasSubstr("\n0 cases"));
  EXPECT_EQ(none.find(" \n"), std::string::npos) << "no trailing blanks";
}

TEST(GateTable, ColorsTheOutcomesAlone) {
  const std::string plain = gate_table(four_cases(), false), color = gate_table(four_cases(), true);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_THAT(color, HasSubstr("\x1b[31mfail          \x1b[0m"));
  EXPECT_THAT(color, HasSubstr("\x1b[32mpass          \x1b[0m"));
  EXPECT_THAT(color, HasSubstr("\x1b[33muntrusted     \x1b[0m"));
  EXPECT_THAT(color, HasSubstr("\x1b[33mnot_comparable\x1b[0m"));
}

// If shapes differ, the reason is given, and the standard's column names the standard that would
// have judged.
TEST(GateTable, NamesTheStandardOfShapesThatDiffer) {
  Bound torch = tolerance(1e-3, 1e-3);
  torch.standard = "torch";
  GateReport report;
  report.cases = {reported("a", {judge(list("float32", {1}), list("float32", {1, 2}), torch)})};
  const std::string table = gate_table(report, false);
  EXPECT_THAT(table.substr(0, table.find("\n\n")), EndsWith("torch"));
}

TEST(GateTable, OneRowAStandard) {
  const Tensor golden = list("float32", {1, 2});
  Bound torch = tolerance(1, 0), bits = of_rule(Rule::kBits);
  torch.standard = "torch";
  bits.standard = "bit_equal";
  const Tensor actual = list("float32", {1, 2.5});
  GateReport report;
  report.cases = {reported("a", {judge(actual, golden, torch), judge(actual, golden, bits)})};
  const std::string table = gate_table(report, false);
  EXPECT_THAT(table, testing::ContainsRegex("\na +pass .* torch\na +fail .* bit_equal\n"));
  EXPECT_THAT(table, HasSubstr("\n1 case: 1 fail\n"));
  EXPECT_EQ(report_outcome(report), Outcome::kFail);
}

}  // namespace
}  // namespace assay::report
