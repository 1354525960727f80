// Tests the gate's page: it is self-contained and well-formed, and a file's strings cannot run in
// it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/report.h"
#include "assay/report/html_data.h"
#include "assay/report/page.h"
#include "document.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

GateReport sample(const std::string& text) {
  const Tensor golden =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, 2});
  const Tensor broken =
      Tensor::from_values(format_named("float32"), {2}, std::vector<double>{kNan, 2});
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

// Charts are pictures in the page and cannot run. A row without a number has no bar. A number
// beyond the axis has a mark at its end. A tooltip names the case.
TEST(Html, ChartsAreDrawn) {
  const std::string page = gate_html(sample("matmul/a"));
  EXPECT_THAT(
      page,
      HasSubstr(">largest error / bound (above 1 fails; the axis ends at 1e-4 and 1e4)</text>"));
  EXPECT_THAT(page, HasSubstr(">signal to noise, dB</text>"));
  // The right output has a ratio of 0, and the broken one an infinite ratio. Both have an infinite
  // SNR, because the NaN is left out. The third output has no numbers.
  EXPECT_EQ(count(page, "<rect"), 4);
  EXPECT_EQ(count(page, "fill=\"var(--fail)\""), 2);
  EXPECT_EQ(count(page, " width=\"1.0\" "), 3);
  EXPECT_EQ(count(page, "<title>matmul/a: 0</title></rect>"), 1);
  EXPECT_EQ(count(page, "<title>matmul/a: inf</title></rect>"), 3);
  EXPECT_THAT(gate_html(sample("<b>&")), HasSubstr("<title>&lt;b&gt;&amp;: 0</title></rect>"));
}

TEST(Html, LongNamesAreFittedWithTheirGlyphs) {
  const std::string page = gate_html(sample(std::string(60, 'w')));
  EXPECT_THAT(page, HasSubstr(" textLength=\"300.0\" lengthAdjust=\"spacingAndGlyphs\">"));
}

// Returns the JSON of the page's script.
nlohmann::json data_of(const std::string& page) {
  const std::string head = "<script type=\"application/json\" id=data>";
  const std::size_t begin = page.find(head) + head.size();
  return parsed(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Html, DataAreRowsOfNumberedTexts) {
  GateReport report = sample("layer7");
  report.cases[1].name = "layer107";
  report.cases[1].verdicts.push_back(report.cases[0].verdicts[0]);
  const auto data = data_of(gate_html(report));
  EXPECT_EQ(data["metrics"].size(), 3u);
  const auto& strings = data["strings"];
  const auto place = [&](const char* text) {
    return std::find(strings.begin(), strings.end(), text) - strings.begin();
  };
  EXPECT_LT(place("layer7"), place("layer107")) << "in natural order";
  ASSERT_EQ(data["rows"].size(), 4u) << "one a verdict";
  std::vector<std::string> words;
  for (const auto& row : data["rows"]) {
    ASSERT_EQ(row.size(), 17u);
    words.push_back(strings[row[0].get<std::size_t>()].get<std::string>() + " " +
                    strings[row[3].get<std::size_t>()].get<std::string>());
  }
  EXPECT_THAT(words, testing::ElementsAre("layer7 pass", "layer107 fail", "layer107 pass",
                                          "layer7 not_comparable"));
  EXPECT_EQ(data["rows"][0].back(), -1) << "nothing to explain";
  const auto& detail = data["details"][data["rows"][1].back().get<std::size_t>()];
  EXPECT_THAT(detail["why"].get<std::string>(),
              testing::StartsWith("1 of 2 elements (50.0 %) differs"));
  EXPECT_EQ(detail["worst"][0], "which are");
  EXPECT_EQ(detail["worst"][1][0][0], "[0]");
  EXPECT_EQ(detail["reproduce"], "layer7");
}

// Each bin of a histogram is an octave, and every element is in one bin.
TEST(Html, HistogramsAddUpToOctaves) {
  GateReport report;
  CaseReport c;
  c.name = "a";
  std::vector<double> golden(4000, 1.0), output;
  for (int i = 0; i < 4000; ++i) output.push_back(1 + (i < 1000 ? 0 : i * 1e-3));
  const Format& f = format_named("float64");
  Bound bound;
  bound.atol = 0.5;
  c.verdicts = {
      judge(Tensor::from_values(f, {4000}, output), Tensor::from_values(f, {4000}, golden), bound)};
  report.cases = {c};
  std::map<int, std::int64_t> octaves;
  std::int64_t below = 0;
  for (const double v : output) v == 1 ? ++below : ++octaves[std::ilogb(v - 1)];
  const auto data = data_of(gate_html(report));
  const auto& histogram = data["details"][0]["histograms"][0];
  EXPECT_EQ(histogram[0], "|actual - expected|");
  EXPECT_EQ(histogram[1], below);
  std::map<int, std::int64_t> got;
  for (const auto& bin : histogram[2]) got[bin[0].get<int>()] = bin[1].get<std::int64_t>();
  EXPECT_EQ(got, octaves);
}

TEST(Html, ManyCasesAreBounded) {
  GateReport report = sample("a");
  const CaseReport broken = report.cases[1];
  report.cases.assign(1500, broken);
  for (std::size_t i = 0; i < report.cases.size(); ++i) report.cases[i].name = formatted("c{}", i);
  const std::string page = gate_html(report);
  const auto data = data_of(page);
  EXPECT_EQ(data["rows"].size(), 1500u);
  EXPECT_EQ(data["details"].size(), 1500u);
  EXPECT_EQ(count(page, "\"histograms\":"), kPicturedCases);
  EXPECT_EQ(count(page, "<rect"), 2 * 40) << "the worst have bars";
  EXPECT_THAT(page, HasSubstr("the worst 40 of 1 500</text>"));
  EXPECT_THAT(page, HasSubstr("<p>... and 500 more rows. A browser that runs JavaScript shows "
                              "them, and the JSON lists all of them.</p>"));
  EXPECT_THAT(page, HasSubstr("<p>... and 1 300 more did not pass. "));
}

TEST(Html, SoManyRowsAreExplained) {
  GateReport report;
  CaseReport broken;
  broken.error = "e";
  report.cases.assign(kExplainedRows + 1, broken);
  const auto data = data_of(gate_html(report));
  EXPECT_EQ(data["details"].size(), kExplainedRows);
  EXPECT_EQ(data["rows"][kExplainedRows - 1].back(), kExplainedRows - 1);
  EXPECT_EQ(data["rows"][kExplainedRows].back(), -1);
}

TEST(Page, DataCannotEndTheirScript) {
  const std::string json = R"({"a":"</script><!--<script>&\u2028"})";
  const std::string safe = script_json(json);
  EXPECT_THAT(safe, Not(testing::AnyOf(HasSubstr("<"), HasSubstr(">"), HasSubstr("&"))));
  EXPECT_EQ(parsed(safe), parsed(json));
}

// The policy names the script by the SHA-256 of its text, in base 64 (here by openssl).
TEST(Page, OnlyItsOwnScriptRuns) {
  EXPECT_THAT(page_html({.title = "t", .script = "alert(1)"}),
              HasSubstr("script-src 'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='\""));
  EXPECT_THAT(page_html({.title = "t"}), HasSubstr("script-src 'none'\""));
}

TEST(Html, NoReportAtAll) { EXPECT_THAT(gate_html(GateReport{}), HasSubstr("</html>")); }

}  // namespace
}  // namespace assay::report
