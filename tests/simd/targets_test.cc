#include "assay/simd/targets.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/simd/gemm.h"

namespace assay::simd {
namespace {

class TargetsTest : public testing::Test {
 protected:
  void TearDown() override { force_target(""); }
};

TEST_F(TargetsTest, TheBestIsInUseAndListedFirst) {
  const std::vector<std::string> targets = available_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_EQ(target_name(), targets.front());
  EXPECT_EQ(std::set<std::string>(targets.begin(), targets.end()).size(), targets.size());
  for (const std::string& target : targets) EXPECT_FALSE(target.empty());
}

TEST_F(TargetsTest, ForcesEachAndGoesBack) {
  const std::vector<std::string> targets = available_targets();
  const TileShape best = chunk_tile_shape();
  for (const std::string& target : targets) {
    force_target(target);
    EXPECT_EQ(target_name(), target);
    // The kernels follow the target: the narrower its vectors, the narrower the tile.
    EXPECT_LE(chunk_tile_shape().columns, best.columns) << target;
  }
  force_target(targets.back());
  const bool narrower = chunk_tile_shape().columns < best.columns;
  EXPECT_EQ(narrower, targets.front() != targets.back());
  force_target("");
  EXPECT_EQ(target_name(), targets.front());
  EXPECT_EQ(chunk_tile_shape().columns, best.columns);
}

TEST_F(TargetsTest, TheListIsTheProcessorsWhateverIsForced) {
  const std::vector<std::string> targets = available_targets();
  force_target(targets.back());
  EXPECT_EQ(available_targets(), targets);
}

TEST_F(TargetsTest, AnUnknownTargetIsNamed) {
  try {
    force_target("AVX9");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "this processor cannot run SIMD target 'AVX9'");
  }
}

TEST_F(TargetsTest, AnUnknownTargetChangesNothing) {
  const std::string last = available_targets().back();
  force_target(last);
  const TileShape shape = chunk_tile_shape();
  EXPECT_THROW(force_target("AVX9"), std::invalid_argument);
  EXPECT_EQ(target_name(), last);
  EXPECT_EQ(chunk_tile_shape().columns, shape.columns);
}

}  // namespace
}  // namespace assay::simd
