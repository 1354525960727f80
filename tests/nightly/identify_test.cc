// Identifies a thousand random models, each of which computes 16 products.
#include <gtest/gtest.h>

#include "identify/blind.h"

namespace assay::identify {
namespace {

TEST(NightlyBlindIdentify, FindsRandomModelsUpToEquivalence) {
  const BlindResult result = blind(0, 1000, 2);
  EXPECT_EQ(result.excluded, 0) << result.failures;
  EXPECT_GE(result.found, 990) << result.failures;
}

}  // namespace
}  // namespace assay::identify
