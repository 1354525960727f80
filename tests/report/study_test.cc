// Tests studies as text, CSV, JSON and pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "assay/base/constants.h"
#include "assay/report/chart.h"
#include "assay/report/study_report.h"
#include "assay/wire/study_results.h"
#include "document.h"

namespace assay::report {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

study::StudyResult example() {
  study::StudyResult r{"example", "What is it?", {},
                       {},        {"a tree\n"},  {{true, "so"}, {false, "not so"}}};
  study::StudyTable t{"t", "A table", {"name", "n, in all", "x"}, {}};
  t.add({std::string("a \"b\", c"), std::int64_t{12345}, 0.1});
  t.add({std::string("line\nbreak"), std::int64_t{-1}, -kInfinity});
  r.tables.push_back(t);
  r.charts.push_back({"c",
                      "Up & down",
                      "x",
                      "y",
                      study::ChartKind::kLines,
                      false,
                      true,
                      {{"<up>", {1, 2, 3}, {1, 10, 100}}, {"down", {1, 2, 3}, {100, 0, -1}}},
                      {}});
  return r;
}

TEST(StudyReport, Text) {
  EXPECT_EQ(study_text(example()),
            "What is it?\n\nA table\n"
            "name         n, in all  x\n"
            "a \"b\", c     12 345     0.1\n"
            "line\\nbreak  -1         -inf\n"
            "\na tree\n\nFindings:\n  yes  so\n  NO   not so\n");
}

TEST(StudyReport, Csv) {
  EXPECT_EQ(study_csv(example().tables[0]),
            "name,\"n, in all\",x\n"
            "\"a \"\"b\"\", c\",12345,0.1\n"
            "\"line\nbreak\",-1,-inf\n");
}

TEST(StudyReport, Json) {
  const auto json = parsed(wire::study_json(example()));
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("study"), "example");
  EXPECT_EQ(json.at("tables")[0].at("rows")[0], (nlohmann::json{"a \"b\", c", 12345, 0.1}));
  EXPECT_EQ(json.at("tables")[0].at("rows")[1][2], "-inf");
  EXPECT_EQ(json.at("charts")[0].at("series")[1].at("y"), (nlohmann::json{100.0, 0.0, -1.0}));
  EXPECT_EQ(json.at("findings")[1], (nlohmann::json{{"holds", false}, {"finding", "not so"}}));
  EXPECT_EQ(json.at("drawings")[0], "a tree\n");
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// An independent XML parser reads the pictures, and nothing lies outside of them.
void expect_well_formed(const std::string& svg) {
  const auto path = std::filesystem::temp_directory_path() / "assay_chart_test.svg";
  std::ofstream(path) << svg;
  const std::string program =
      "import sys, xml.dom.minidom as m\n"
      "d = m.parse(sys.argv[1])\n"
      "for tag, names in [(\"circle\", (\"cx\", \"cy\")), (\"rect\", (\"x\", \"y\"))]:\n"
      "  for e in d.getElementsByTagName(tag):\n"
      "    for name, most in zip(names, (720, 440)):\n"
      "      assert 0 <= float(e.getAttribute(name) or 0) <= most, e.toxml()\n";
  const std::string command = std::string(ASSAY_PYTHON) + " -c '" + program + "' " + path.string();
  EXPECT_EQ(std::system(command.c_str()), 0) << svg;
  std::filesystem::remove(path);
}

TEST(StudyReport, LineChart) {
  const std::string svg = chart_svg(example().charts[0]);
  expect_well_formed(svg);
  EXPECT_THAT(svg, AllOf(HasSubstr("Up &amp; down"), HasSubstr("&lt;up&gt;"), HasSubstr(">down<")));
  EXPECT_EQ(count_of(svg, "<polyline"), 2u);
  // 0 and -1 have no place on a logarithmic axis.
  EXPECT_EQ(count_of(svg, "<circle"), 4u);
  EXPECT_THAT(svg, AllOf(HasSubstr(">1<"), HasSubstr(">10<"), HasSubstr(">100<")));
}

TEST(StudyReport, BarChart) {
  study::StudyChart c{"c",
                      "Bars",
                      "order",
                      "n",
                      study::ChartKind::kBars,
                      false,
                      false,
                      {{"only", {0, 1, 2}, {5, 0, 20}}},
                      {"a", "b", "c"}};
  const std::string svg = chart_svg(c);
  expect_well_formed(svg);
  EXPECT_EQ(count_of(svg, "<rect"), 3u) << "the ground, and a bar for each value but 0";
  EXPECT_THAT(svg,
              AllOf(HasSubstr(">a<"), HasSubstr(">b<"), HasSubstr(">20<"), Not(HasSubstr("only"))));
}

TEST(StudyReport, ChartsWithoutMuchToShow) {
  for (const bool log : {false, true}) {
    for (const study::ChartKind kind : {study::ChartKind::kLines, study::ChartKind::kBars}) {
      study::StudyChart c{"c", "t", "x", "y", kind, log, log, {}, {}};
      expect_well_formed(chart_svg(c));
      c.series = {{"s", {}, {}}};
      expect_well_formed(chart_svg(c));
      c.series = {{"s", {1}, {1}}};
      expect_well_formed(chart_svg(c));
      c.series = {{"s", {1, 2, 3}, {std::nan(""), kInfinity, -kInfinity}}};
      expect_well_formed(chart_svg(c));
      EXPECT_THAT(chart_svg(c), AllOf(Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
    }
  }
}

}  // namespace
}  // namespace assay::report
