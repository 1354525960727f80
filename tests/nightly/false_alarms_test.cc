// Tests ten million clean rows, ten times those of the plan, with other inputs.
#include <gtest/gtest.h>

#include "assay/campaign/results.h"
#include "assay/wire/plan_file.h"

namespace assay {
namespace {

TEST(FalseAlarms, NoneInTenMillionRows) {
  campaign::Plan plan = campaign::check_plan(
      wire::read_plan(std::string(ASSAY_SOURCE_DIR "/plans/false_alarms.json")));
  plan.seed += 1;
  for (campaign::Cell& cell : plan.cells) cell.clean_rows *= 10;
  const campaign::Campaign campaign(plan, {});
  std::int64_t rows = 0;
  campaign.run(campaign.blocks(),
               [&](const campaign::BlockAddress& block, const campaign::BlockTally& tally) {
                 for (const campaign::MatrixTally& m : tally.matrices) {
                   rows += m.clean.front().rows;
                   EXPECT_EQ(m.clean.front().alarms, 0) << plan.cells[block.cell].name;
                 }
               });
  EXPECT_GE(rows, 10000000);
}

}  // namespace
}  // namespace assay
