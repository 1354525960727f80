// The page of a campaign's results, by results made by hand; tests/tools/report_test.cc has those
// of campaigns.
#include "assay/report/campaign_html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "assay/report/campaign_plots.h"
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

// Half octaves from the first that holds anything to the last, with an end on each side.
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

// A line is broken where nothing could be injected, and what lies outside is drawn at the end.
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
