// Campaigns that check the claims of docs/abft.md about rounding_variance and the published
// thresholds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "assay/campaign/results.h"
#include "assay/wire/plan_file.h"
#include "assay/wire/published_file.h"

namespace assay {
namespace {

std::vector<campaign::CellResult> run(const campaign::Plan& plan, int threads = 0) {
  const campaign::Campaign campaign(plan, {.threads = threads});
  std::map<std::int64_t, campaign::BlockTally> blocks;
  campaign.run(campaign.blocks(),
               [&](const campaign::BlockAddress& b, const campaign::BlockTally& tally) {
                 blocks.emplace(b.index, tally);
               });
  return campaign::results_of(campaign,
                              [&](const campaign::BlockAddress& b) { return blocks.at(b.index); });
}

const std::string kPlans = std::string(ASSAY_SOURCE_DIR "/plans/");

// Takes a quarter of the plan's rows. The nightly test takes ten times the whole plan.
TEST(CampaignEvidence, RoundingVarianceDoesNotAlarmInAQuarterOfAMillionRows) {
  std::int64_t rows = 0;
  campaign::Plan plan = campaign::check_plan(wire::read_plan(kPlans + "false_alarms.json"));
  for (campaign::Cell& cell : plan.cells) cell.clean_rows /= 4;
  for (const campaign::CellResult& result : run(plan)) {
    const campaign::GateResult& gate = result.gates.front();
    rows += gate.clean.rows;
    EXPECT_EQ(gate.clean.alarms, 0) << plan.cells[result.cell].name;
    EXPECT_EQ(gate.clean.not_checkable, 0) << plan.cells[result.cell].name;
  }
  EXPECT_GE(rows, 250000);
}

// Returns the share of the flips of a bit that a gate detected.
double rate(const campaign::GateResult& gate, int bit, fault::Direction direction) {
  for (const campaign::SeriesResult& s : gate.series) {
    if (s.series.bit != bit || s.series.direction != direction) continue;
    const Rate& r = s.detected.rate;
    return r.trials == 0 ? -1 : static_cast<double>(r.events) / static_cast<double>(r.trials);
  }
  return -1;
}

TEST(CampaignEvidence, ThePublishedExperimentForBfloat16) {
  const campaign::Plan plan = campaign::check_plan(wire::read_plan(kPlans + "quick.json"));
  const std::vector<campaign::CellResult> results = run(plan);
  ASSERT_EQ(results.size(), 4u);
  // Our threshold detects at least what the others detect, if those raise no alarms on clean rows.
  for (const campaign::CellResult& result : results) {
    const campaign::GateResult &v = result.gates[0], &a = result.gates[1], &ours = result.gates[2];
    ASSERT_TRUE(ours.gate.starts_with("rounding_variance"));
    EXPECT_EQ(ours.clean.alarms, 0);
    for (const fault::Direction d : {fault::Direction::kZeroToOne, fault::Direction::kOneToZero}) {
      for (int bit = 0; bit < 16; ++bit) {
        const std::string where = plan.cells[result.cell].name + " bit " + std::to_string(bit);
        EXPECT_GE(rate(ours, bit, d), rate(v, bit, d)) << where;
        if (a.clean.alarms == 0) {
          EXPECT_GE(rate(ours, bit, d), rate(a, bit, d)) << where;
        }
      }
    }
  }
  // The least detection rates of bits 7, 8 and 9, from 0 to 1, for the four distributions and
  // groups of 16 columns.
  const double least[4][3] = {
      {0.965, 0.98, 0.995}, {1, 1, 1}, {0.965, 0.985, 0.995}, {0.955, 0.98, 0.995}};
  for (std::size_t c = 0; c < 4; ++c) {
    for (int bit = 7; bit <= 9; ++bit) {
      EXPECT_GE(rate(results[c].gates[2], bit, fault::Direction::kZeroToOne), least[c][bit - 7])
          << plan.cells[c].name << " bit " << bit;
    }
  }
  // Nearly all published rates are met: at most 4 differ, without those that are void or have a
  // remark.
  const std::vector<campaign::PublishedRate> published = wire::read_published(plan.published);
  std::int64_t agree = 0, differ = 0;
  for (const campaign::Comparison& c : campaign::compare_published(plan, results, published)) {
    if (!c.published->remark.empty() || c.published->word == "void") continue;
    ++(c.agrees ? agree : differ);
  }
  EXPECT_GE(agree, 80);
  EXPECT_LE(differ, 4);
}

}  // namespace
}  // namespace assay
