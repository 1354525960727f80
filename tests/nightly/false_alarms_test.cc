// Ten million clean rows, ten times those of the evidence tests, with other inputs.
#include <gtest/gtest.h>

#include "assay/campaign/results.h"
#include "assay/config/plan_file.h"

namespace assay {
namespace {

TEST(FalseAlarms, NoneInTenMillionRows) {
  Plan plan = check_plan(read_plan(std::string(ASSAY_SOURCE_DIR) + "/plans/false_alarms.json"));
  plan.seed += 1;
  for (Cell& cell : plan.cells) cell.clean_rows *= 10;
  const Campaign campaign(plan, {});
  std::int64_t rows = 0;
  campaign.run(campaign.blocks(), [&](const BlockAddress& block, const BlockTally& tally) {
    for (const MatrixTally& m : tally.matrices) {
      rows += m.clean.front().rows;
      EXPECT_EQ(m.clean.front().alarms, 0) << plan.cells[block.cell].name;
    }
  });
  EXPECT_GE(rows, 10000000);
}

}  // namespace
}  // namespace assay
