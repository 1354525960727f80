// Tests many random members of the families of orders of summation.
#include <gtest/gtest.h>

#include "identify/sum_order_models.h"

namespace assay::identify {
namespace {

TEST(SumOrderNightly, RandomMembersOfTheFamiliesAreFound) {
  const BlindTrials t = try_random_models(1000, 1000);
  EXPECT_EQ(t.wrong, 0) << t.first;
  EXPECT_EQ(t.excluded, 0) << t.first;
  EXPECT_GE(t.found, 900) << t.first;
}

}  // namespace
}  // namespace assay::identify
