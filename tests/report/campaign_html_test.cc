// Tests the page of a campaign's results, for results made by hand. tests/tools/report_test.cc
// tests those of real campaigns.
#include "assay/report/campaign_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "assay/report/campaign_plots.h"
#include "assay/report/campaign_report.h"
#include "assay/report/plot.h"
#include "report/samples.h"

namespace assay::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_samples::rate_of;

campaign::SavedCampaign small(std::int64_t alarmed, std::int64_t matrices) {
  campaign::SavedCell cell;
  cell.name = "cell";
  cell.op = "matmul";
  cell.machine = "exact";
  cell.dtype = "bfloat16";
  cell.output_dtype = "float32";
  cell.shape = {4, 8, 6};
  cell.inputs = {{"a", "normal"}};
  cell.faults = {{"", ""}};
  cell.published.resize(1);
  cell.result.matrices = matrices;
  campaign::GateResult gate;
  gate.gate = "v_abft";
  gate.clean.rows = 100;
  gate.clean_matrices = matrices;
  gate.alarmed_matrices = alarmed;
  gate.alarms = rate_of(alarmed, 100, matrices);
  gate.rms_z = NAN;
  gate.ratios[simd::kBinAtOne - 8] = 100 - alarmed;
  gate.ratios[simd::kBinAtOne + 1] = alarmed;
  campaign::SeriesResult s;
  s.series.bit = 7;
  s.series.direction = fault::Direction::kZeroToOne;
  s.faults.injected = 50;
  s.detected = rate_of(10, 50, matrices);
  s.ratios[simd::kBinAtOne] = 40;
  s.ratios[simd::kBinNotFinite] = 10;
  gate.series = {s};
  cell.result.gates = {gate};
  campaign::SavedCampaign saved;
  saved.source = "r.json";
  saved.name = "by hand";
  saved.cells = {cell};
  return saved;
}

TEST(CampaignHtml, SaysWhatItsShortFormsMeanAndNoMore) {
  const std::string page = campaign_html({small(0, 10)}, "assay report r.json", "1.2");
  EXPECT_THAT(page, HasSubstr("matmul on exact, bfloat16 to float32, shape [4, 8, 6]; a: normal; "
                              "10 matrices"));
  // 1 - 0.05^(1/100) and 1 - 0.05^(1/10).
  EXPECT_THAT(page, HasSubstr("<td class=num>0 of 100</td><td class=num>0</td><td class=num>3</td>"
                              "<td class=num>26</td><td class=num>0 of 10</td>"));
  EXPECT_THAT(page, HasSubstr("one-sided 95 % bounds"));
  EXPECT_THAT(page, Not(HasSubstr(">void<")));
  EXPECT_THAT(page, Not(HasSubstr("[-]")));
  EXPECT_THAT(page, Not(HasSubstr("Side by side")));
  EXPECT_THAT(page, HasSubstr("<footer>assay 1.2; made by: assay report r.json</footer>"));
  EXPECT_THROW((void)campaign_html({}, "", ""), std::invalid_argument);
}

TEST(CampaignHtml, VoidGatesAndTooFewMatrices) {
  const std::string page = campaign_html({small(2, 3)}, "c", "v");
  EXPECT_THAT(page, HasSubstr("v_abft <span class=void>void</span>"));
  EXPECT_THAT(page, HasSubstr("<b class=warn>1</b>of these void"));
  EXPECT_THAT(page, HasSubstr("alarms on at least half of the clean matrices"));
  EXPECT_THAT(page, HasSubstr("20 [-]"));
  EXPECT_THAT(page, HasSubstr("v_abft (void), bit 7, 0 to 1: 20 % of 50 (10); no interval, for 3 "
                              "matrices do not say how much they differ"));
  EXPECT_THAT(page, HasSubstr("<g class=\"c1 r0 faint\">"));
}

// Shows three results beside each other: rates that differ, rates without an interval, and series
// that not all results have.
TEST(CampaignHtml, SideBySide) {
  campaign::SavedCampaign first = small(2, 10), second = small(2, 10), third = small(60, 10);
  second.name = "again";
  second.about = "with another seed";
  // For 10 and 45 of 50 faults, Wilson's intervals are 11.24 to 33.04 % and 78.64 to 95.65 %.
  second.cells[0].result.gates[0].series[0].detected = rate_of(45, 50, 10);
  third.cells[0].result.gates[0].series[0].series.bit = 8;
  campaign::SavedCell more = third.cells[0];
  more.name = "more <of it>";
  third.cells.push_back(more);
  const std::string page = campaign_html({first, second, third}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<title>assay: Fault campaigns: by hand, again</title>"));
  EXPECT_THAT(page, HasSubstr(">3</b>results</div>"));
  EXPECT_THAT(page, HasSubstr("<p class=soft>with another seed</p>"));
  // The compared rates are the false alarms of both other results, and the faults of the second
  // one. The third result has another bit.
  EXPECT_THAT(page, HasSubstr("<p>A and another result have 3 rates in common. The 95 % intervals "
                              "of 2 do not overlap."));
  EXPECT_THAT(page, HasSubstr("<th class=num>A, %<th>result<th class=num>its rate, %"));
  EXPECT_THAT(page,
              HasSubstr("<td class=name>cell</td><td class=name>v_abft</td><td>bit 7, 0 to 1</td>"
                        "<td class=num>" +
                        rate_text(rate_of(10, 50, 10)) + "</td><td>B</td><td class=num>" +
                        rate_text(rate_of(45, 50, 10)) + "</td><td class=num>+70.00</td></tr>"));
  EXPECT_THAT(page,
              HasSubstr("<td>false alarms</td><td class=num>" + rate_text(rate_of(2, 100, 10)) +
                        "</td><td>C</td><td class=num>" + rate_text(rate_of(60, 100, 10)) +
                        "</td><td class=num>+58.00</td></tr>"));
  EXPECT_THAT(page,
              HasSubstr("<p>Cells that not all results have:</p><ul><li>more &lt;of it&gt;: not in "
                        "A, B</ul>"));
  EXPECT_THAT(page, HasSubstr("<ul>\n<li><a href=\"#cell1\">cell</a>\n<li><a href=\"#cell2\">more "
                              "&lt;of it&gt;</a>\n</ul>"));
  EXPECT_THAT(page, HasSubstr("v_abft \u00b7 C"));
  EXPECT_THAT(page, HasSubstr("<p class=\"facts soft\">C: matmul on exact"));
  EXPECT_THAT(page, HasSubstr("<th>result<th>campaign"));
  EXPECT_THAT(page, HasSubstr("<td class=\"num bar\">-</td>")) << "a bit that a result lacks";
}

TEST(CampaignHtml, TwoResultsOfTooFewMatrices) {
  const std::string page = campaign_html({small(1, 3), small(1, 3)}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<p>A and another result have 0 rates in common. The 95 % intervals "
                              "of 0 do not overlap."));
  EXPECT_THAT(page,
              HasSubstr(" 2 more have no interval, because they have fewer than 4 matrices."));
  EXPECT_THAT(page, Not(HasSubstr("<th class=num>difference")));
  EXPECT_THAT(page, Not(HasSubstr("Cells that not all results have")));
  EXPECT_THAT(page, HasSubstr("<title>assay: Fault campaign: by hand</title>")) << "named once";
}

TEST(CampaignHtml, BesideOneOther) {
  campaign::SavedCampaign other = small(60, 10);
  other.cells[0].result.gates[0].series.clear();
  other.cells[0].faults.clear();
  const std::string page = campaign_html({small(2, 10), other}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<p>A and another result have 1 rate in common. The 95 % intervals "
                              "of 1 do not overlap."));
  EXPECT_THAT(page, HasSubstr("<th class=num>A, %<th class=num>B, %<th class=num>difference"));
}

// There are more results (28) than letters to name them. From R27 on, they are numbered.
TEST(CampaignHtml, ManyResults) {
  const std::string page =
      campaign_html(std::vector<campaign::SavedCampaign>(28, small(2, 10)), "c", "v");
  EXPECT_THAT(page, HasSubstr("<td>Z</td>"));
  EXPECT_THAT(page, HasSubstr("<td>R27</td>"));
  EXPECT_THAT(page, HasSubstr("v_abft \u00b7 R28"));
}

TEST(CampaignHtml, CleanRowsThatSayNothing) {
  campaign::SavedCampaign saved = small(0, 10);
  campaign::GateResult& gate = saved.cells[0].result.gates[0];
  gate.alarms = {};
  EXPECT_THAT(campaign_html({saved}, "c", "v"),
              HasSubstr("<td colspan=6 class=soft>none of 100 rows could be checked</td>"));
  gate.clean.rows = 0;
  EXPECT_THAT(campaign_html({saved}, "c", "v"),
              HasSubstr("<td colspan=6 class=soft>no clean rows were checked</td>"));
}

// Tests classes of faults, and drawn faults.
TEST(CampaignHtml, Classes) {
  campaign::SavedCampaign saved = small(2, 10);
  campaign::SavedCell& cell = saved.cells[0];
  cell.faults.push_back({"zero,seed=0", "zeros"});
  campaign::GateResult& gate = cell.result.gates[0];
  campaign::SeriesResult drawn;
  drawn.series.fault = 1;
  drawn.series.bit = -1;
  drawn.faults.injected = 40;
  drawn.faults.masked = 3;
  drawn.detected = rate_of(20, 40, 10);
  gate.series.push_back(drawn);
  gate.classes = {{drawn, "zeros"}};
  campaign::SavedCampaign without = saved;
  without.cells[0].result.gates[0].classes[0].name = "others";
  const std::string page = campaign_html({saved, without}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<h3>Detected by class of fault, %</h3>"));
  EXPECT_THAT(page, HasSubstr("<tr><td class=name>zeros</td><td class=num>40</td><td class=\"num "
                              "bar\" title="));
  EXPECT_THAT(page, HasSubstr("<tr><td class=name>others</td><td class=num>40</td><td class=\"num "
                              "bar\">-</td><td class=\"num bar\" title="));
  EXPECT_THAT(page, HasSubstr("<h3>Detected by fault, %</h3>"));
  EXPECT_THAT(page, HasSubstr("<td class=name>zeros</td><td class=num>40</td><td "
                              "class=num>3</td><td class=num>0</td><td class=num>0</td>"));
}

// Tests every verdict on a published rate.
TEST(CampaignHtml, Published) {
  campaign::SavedCampaign saved = small(2, 10);
  campaign::SavedPublished p;
  p.bit = 7;
  p.direction = fault::Direction::kZeroToOne;
  p.rate = 0.25;
  p.trials = 10000;
  p.agrees = true;
  std::vector<campaign::SavedPublished> all(7, p);
  all[0].variant = "april";
  all[1].agrees = false;
  all[2].agrees = false;
  all[2].why = "a < b";
  all[3].agrees.reset();
  all[4].remark = "columns exchanged";
  all[5].rate.reset();
  all[5].word = "void";
  all[6].bit = -1;
  all.push_back(p);
  all.back().bit = 9;
  all.back().rate.reset();
  all.back().word = "not_injectable";
  saved.cells[0].published = {all};
  const std::string page = campaign_html({saved}, "c", "v");
  EXPECT_THAT(page, HasSubstr("Published and measured rates: 3 agree, 2 differ, 1 held to be "
                              "defects of the publication"));
  const std::string ours = "<td class=num>" + rate_text(rate_of(10, 50, 10)) + "</td>";
  const std::string row = "<tr><td class=name>v_abft</td><td>bit 7, 0 to 1";
  for (const std::string& text : std::vector<std::string>{
           row + ", april</td><td class=num>25</td><td class=num>10 000</td>" + ours +
               "<td class=\"pass\">agrees</td></tr>",
           row + "</td><td class=num>25</td><td class=num>10 000</td>" + ours +
               "<td class=\"warn\">differs</td></tr>",
           ours + "<td class=\"warn\">differs: a &lt; b</td></tr>",
           ours + "<td class=\"soft\">not judged: fewer than 4 matrices</td></tr>",
           ours + "<td class=\"soft\">held to be a defect of the publication: columns "
                  "exchanged</td></tr>",
           row + "</td><td class=num>void</td><td class=num>10 000</td>" + ours +
               "<td class=\"\"></td></tr>",
           "<td>runs with an alarm</td><td class=num>25</td><td class=num>10 000</td><td "
           "class=num>" +
               rate_text(rate_of(2, 10, 10)) + "</td><td class=\"pass\">agrees</td></tr>",
           "<td>bit 9, 0 to 1</td><td class=num>not injectable</td><td class=num>10 000</td><td "
           "class=num>not injectable</td><td class=\"pass\">agrees</td></tr>"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, HasSubstr("<span>\u25c7 published</span>"));
}

// Tests the notes on gates that judge elements, and on clean rows that were dismissed.
TEST(CampaignHtml, NotesOfOtherGates) {
  campaign::SavedCampaign saved = small(0, 10);
  saved.cells[0].result.gates[0].gate = "tolerance";
  std::string page = campaign_html({saved}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<li>For a tolerance or a standard, T is the bound of an element."));
  EXPECT_THAT(page, Not(HasSubstr("<li>Dismissed: ")));
  saved.cells[0].result.gates[0].clean.dismissed = 4;
  page = campaign_html({saved}, "c", "v");
  EXPECT_THAT(page, HasSubstr("<li>Dismissed: above the threshold, but found clean element by "
                              "element."));
}

// The histogram has half octaves, from the first that is not empty to the last. Two more rows hold
// all smaller and all larger ratios.
TEST(CampaignHtml, StepsOfDOverT) {
  campaign::GateResult gate = small(2, 10).cells[0].result.gates[0];
  std::vector<RatioStep> steps = ratio_steps(gate);
  ASSERT_EQ(steps.size(), 6u);
  EXPECT_EQ(steps[0].from_to, "below");
  EXPECT_EQ(steps[1].from_to, "0.375 to 0.5");
  EXPECT_EQ(steps[1].clean, 98);
  EXPECT_EQ(steps[3].from_to, "0.75 to 1");
  EXPECT_EQ(steps[3].faulty, 40);
  EXPECT_EQ(steps[4].from_to, "1 to 1.5");
  EXPECT_EQ(steps[4].clean, 2);
  EXPECT_EQ(steps[5].from_to, "above, infinite or NaN");
  EXPECT_EQ(steps[5].faulty, 10);
  gate.gate = "tolerance";
  EXPECT_EQ(ratio_steps(gate)[0].from_to, "below, or within the bound");
}

// A line is broken if nothing could be injected. A point outside the plot is drawn at its edge.
TEST(Plot, Figure) {
  Plot plot{.title = "t <1>",
            .x = {.label = "x", .low = 0, .high = 10, .ticks = {{0, "0"}, {10, "10"}}},
            .y = {.label = "y", .low = 0, .high = 100, .ticks = {{0, "0"}, {100, "100"}}}};
  plot.series.push_back(
      {.color = 8, .run = 1, .points = {{1, 10, "one"}, {2, NAN, ""}, {3, 300, "a & b", 50, 60}}});
  const std::string figure = plot_figure(plot);
  EXPECT_THAT(figure, HasSubstr("<figcaption>t &lt;1&gt;</figcaption>"));
  EXPECT_THAT(figure, HasSubstr("<g class=\"c2 r1\">")) << "the colours begin again";
  EXPECT_THAT(figure, HasSubstr("<title>one</title>"));
  EXPECT_THAT(figure, HasSubstr("<title>a &amp; b</title>"));
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = figure.find("<polyline", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 2u);
  EXPECT_EQ(figure.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace assay::report
