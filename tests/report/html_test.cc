// The page that people open: self-contained, well-formed, and nothing of a file's strings runs in
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "assay/report/report.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

GateReport sample(const std::string& text) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const Tensor golden =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, 2});
  const Tensor broken =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{kNaN, 2});
  Bound bound;
  bound.standard = "torch";
  GateReport report;
  report.golden_file = report.command = report.version = report.simd_target = text;
  for (const Tensor* actual : {&golden, &broken}) {
    CaseReport c;
    c.name = c.op = c.dtype = c.producer = c.reproduce = text;
    c.shape = {2};
    c.verdicts = {judge(Tensor(*actual), golden, bound)};
    report.cases.push_back(c);
  }
  CaseReport missing;
  missing.name = text;
  missing.verdicts = {not_comparable(text)};
  report.cases.push_back(missing);
  return report;
}

std::int64_t count(const std::string& page, const std::string& part) {
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = page.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

TEST(Html, ShowsEveryOutcome) {
  const std::string page = gate_html(sample("matmul/a"));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  EXPECT_THAT(page, HasSubstr("1 of 2 elements (50.0 %) differs"));
  EXPECT_THAT(page, HasSubstr("matmul/a"));
  EXPECT_THAT(page, HasSubstr("not comparable"));
}

TEST(Html, NeedsNoNetwork) {
  const std::string page = gate_html(sample("a"));
  for (const char* fetched : {"<link", "<img", "<script src", "@import", "fetch(\""}) {
    EXPECT_THAT(page, Not(HasSubstr(fetched)));
  }
}

TEST(Html, StringsDoNotRun) {
  const std::string plain = gate_html(sample("a"));
  for (const char* evil :
       {"<script>alert(1)</script>", "</script><img src=x>", "\"><b>", "\"+f()+\"", "\\", "a\nb"}) {
    const std::string page = gate_html(sample(evil));
    EXPECT_EQ(count(page, "<script"), count(plain, "<script")) << evil;
    EXPECT_EQ(count(page, "</script"), count(plain, "</script")) << evil;
    EXPECT_THAT(page, Not(HasSubstr("<img"))) << evil;
    EXPECT_EQ(count(page, "<svg"), 2) << evil;
    EXPECT_EQ(count(page, "<b>"), count(plain, "<b>")) << evil;
  }
}

// Charts are pictures in the page: nothing of it runs, a row that has no number has no bar,
// and one whose number is beyond the axis a mark at its end; a tooltip says which case it is.
TEST(Html, ChartsAreDrawn) {
  const std::string page = gate_html(sample("matmul/a"));
  EXPECT_EQ(count(page, "<script"), 0);
  EXPECT_THAT(page,
              HasSubstr(">largest error / bound (above 1: fails; 1e4 and more at the edge)<"));
  EXPECT_THAT(page, HasSubstr(">signal to noise, dB<"));
  // The right output has a ratio of 0, the broken one an infinite one, and both an infinite SNR, as
  // its NaN is left out. The third has no numbers.
  EXPECT_EQ(count(page, "<rect"), 4);
  EXPECT_EQ(count(page, "fill=\"#cf222e\""), 2);
  EXPECT_EQ(count(page, " width=\"1.0\" "), 3);
  EXPECT_EQ(count(page, "<title>matmul/a: 0</title></rect>"), 1);
  EXPECT_EQ(count(page, "<title>matmul/a: inf</title></rect>"), 3);
  EXPECT_THAT(gate_html(sample("<b>&")), HasSubstr("<title>&lt;b&gt;&amp;: 0</title></rect>"));
}

TEST(Html, LongNamesAreFittedWithTheirGlyphs) {
  const std::string page = gate_html(sample(std::string(60, 'w')));
  EXPECT_THAT(page, HasSubstr(" textLength=\"288.0\" lengthAdjust=\"spacingAndGlyphs\">"));
}

TEST(Html, NoReportAtAll) { EXPECT_THAT(gate_html(GateReport{}), HasSubstr("</html>")); }

}  // namespace
}  // namespace assay::report
