// Matchers other than CloseTo: one number over all elements, another kernel's output as the
// reference, and the same bits in every run.
#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

using assay::CloseTo;
using assay::CosineAtLeast;
using assay::Deterministic;
using assay::MeetsStandard;
using assay::NoWorseThan;
using assay::RelativeL2AtMost;
using assay::SnrAtLeast;

namespace {

// exp(-x) at 0, 1/64, ... from the given number of terms of its series, in float32 or rounded to 11
// bits.
std::vector<float> series(int terms, bool coarse) {
  std::vector<float> y(64);
  for (std::size_t i = 0; i < y.size(); ++i) {
    const float x = static_cast<float>(i) / 64;
    float sum = 0, term = 1;
    for (int k = 1; k <= terms; ++k) {
      sum += term;
      term *= -x / static_cast<float>(k);
    }
    y[i] = coarse ? std::round(sum * 2048) / 2048 : sum;
  }
  return y;
}

std::vector<double> golden() {
  std::vector<double> y(64);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = std::exp(-static_cast<double>(i) / 64);
  return y;
}

TEST(Exp, AsGoodAsItsNumbers) {
  const std::vector<float> out = series(10, false);
  EXPECT_THAT(out, MeetsStandard("torch", golden()));
  EXPECT_THAT(out, SnrAtLeast(golden(), 120));          // dB
  EXPECT_THAT(out, CosineAtLeast(golden(), 0.999999));  // it does not detect a wrong scale
  EXPECT_THAT(out, RelativeL2AtMost(golden(), 1e-6));

  // A single number hides one corrupt element among many, so it is used together with CloseTo.
  std::vector<float> corrupt = out;
  corrupt[7] += 0.001F;
  EXPECT_THAT(corrupt, testing::AllOf(SnrAtLeast(golden(), 60), testing::Not(CloseTo(golden()))));
}

TEST(Exp, NoWorseThanAnother) {
  const std::vector<float> peer = series(5, true);
  EXPECT_THAT(series(6, true), NoWorseThan(peer, golden()));
  EXPECT_THAT(series(6, true), NoWorseThan(peer, golden()).by("max_abs_error").factor(1.2));
  EXPECT_THAT(series(4, true), testing::Not(NoWorseThan(peer, golden()).factor(2)));
}

TEST(Exp, TheSameBitsEveryTime) {
  EXPECT_THAT([] { return series(10, false); }, Deterministic(5));
}

}  // namespace
