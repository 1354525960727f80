// Compares e_max on emulated machines with measurements on real ones.
#include <gtest/gtest.h>

#include <string>

#include "emax_grid.h"

namespace assay {
namespace {

// The published grid of the 910B for float32, with K and N up to 1024, has 16 cells of two runs
// each. A unit that rounds after four products fits it within some 3 percent. Units that round
// after two or eight products are a third away.
TEST(EmaxGridTest, FourProductsARoundingFitThePublishedGrid) {
  ASSERT_EQ(emax_grid::published(1024).size(), 16u);
  EXPECT_LT(emax_grid::distance("ascend910b", 1024, 12), 0.08);
  EXPECT_LT(emax_grid::distance("ascend910b,chunk=4", 1024, 12), 0.08);
}

class OtherChunkTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Chunk, OtherChunkTest, testing::Values(1, 2, 8, 16),
                         [](const auto& row) { return std::to_string(row.param); });

TEST_P(OtherChunkTest, DoesNotFit) {
  EXPECT_GT(emax_grid::distance(formatted("ascend910b,chunk={}", GetParam()), 1024, 12), 0.25);
}

abft::Calibration calibrated(const char* machine, const char* dtype) {
  abft::CalibrationPlan plan;
  plan.machine = &machine_named(machine);
  plan.dtype = &format_named(dtype);
  plan.trials = 200;
  return abft::calibrate(plan);
}

// Tests products of 128 x 1024 x 256 with operands of N(1,1). For bfloat16, e_max is the relative
// distance between two neighbours, which is at most 2^-7. An H200 gave 7.8125e-3, and 7.76e-3 is
// published for the 910B. For float16, an H200 gave 6.66e-4 (800 trials), and up to 9.77e-4 is
// published. For float32, 1.38e-6 to 2.13e-6 is published for the 910B at this shape.
TEST(EmaxTest, LowPrecision) {
  for (const char* machine : {"ascend910b", "hopper"}) {
    EXPECT_EQ(calibrated(machine, "bfloat16").e_max, 0x1p-7) << machine;
    const double half = calibrated(machine, "float16").e_max;
    EXPECT_GT(half, 6.0e-4) << machine;
    EXPECT_LT(half, 9.77e-4) << machine;
  }
}

TEST(EmaxTest, Float32) {
  const abft::Calibration c = calibrated("ascend910b", "float32");
  EXPECT_EQ(c.rows, 200 * 128);
  EXPECT_GT(c.predicted, 1.2e-6);
  EXPECT_LT(c.predicted, 2.2e-6);
  // The measured e_max is near the predicted one, which holds for many more samples.
  EXPECT_GT(c.e_max, 0.7 * c.predicted);
  EXPECT_LT(c.e_max, 1.1 * c.predicted);
}

TEST(EmaxTest, ThreadsAndSeeds) {
  abft::CalibrationPlan plan;
  plan.machine = &machine_named("ascend910b");
  plan.dtype = &format_named("float32");
  plan.k = 64;
  plan.n = 32;
  plan.trials = 7;
  plan.threads = 1;
  const abft::Calibration one = abft::calibrate(plan);
  plan.threads = 2;
  const abft::Calibration two = abft::calibrate(plan);
  EXPECT_EQ(one.e_max, two.e_max);
  EXPECT_EQ(one.mean, two.mean);
  EXPECT_EQ(one.deviation, two.deviation);
  plan.seed = 1;
  EXPECT_NE(abft::calibrate(plan).mean, one.mean);
}

}  // namespace
}  // namespace assay
