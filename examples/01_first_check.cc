#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <vector>

using assay::CloseTo;
using assay::view;
using assay::WithinUlps;

TEST(Softmax, MatchesItsReference) {
  // The output of your operator, and the golden result.
  const std::vector<float> out = {0.09003057f, 0.24472848f, 0.66524094f, 0.0f};
  const std::vector<double> golden = {0.090030573170, 0.244728471055, 0.665240955775, 0.0};

  EXPECT_THAT(out, CloseTo(golden));                    // the default standard for float32
  EXPECT_THAT(out, CloseTo(golden).standard("torch"));  // another published one
  EXPECT_THAT(out, CloseTo(golden).rtol(1e-6).atol(1e-9));
  EXPECT_THAT(view(out, {2, 2}), WithinUlps(view(golden, {2, 2}), 1));
}
