// Compares the whole published e_max grid of the 910B, K and N up to 8192, with the emulated unit.
#include "evidence/emax_grid.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(WholeEmaxGridTest, OnlyFourProductsARoundingFit) {
  ASSERT_EQ(emax_grid::published(8192).size(), 49u);
  EXPECT_LT(emax_grid::distance("ascend910b", 8192, 12), 0.08);
  for (const char* chunk : {"1", "2", "8", "16"}) {
    EXPECT_GT(emax_grid::distance(formatted("ascend910b,chunk={}", chunk), 8192, 4), 0.25) << chunk;
  }
}

}  // namespace
}  // namespace assay
