// Whether the ratios of many seeds are above 1 by more than chance.
#include "assay/judge/recheck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "error_of.h"
#include "oracle.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(Recheck, FailsOnlyAboveChance) {
  oracle::Dice dice(3);
  const auto ratios = [&](double middle, std::size_t n) {
    std::vector<double> r(n);
    for (double& v : r) v = middle * std::exp(dice.uniform() - 0.5);
    return r;
  };
  const Recheck equal = recheck_ratios(ratios(1, kRecheckSeeds));
  EXPECT_FALSE(equal.fails) << equal.text();
  EXPECT_LT(equal.low, 1);
  EXPECT_GE(equal.median, equal.low);
  EXPECT_LE(equal.median, equal.high);
  EXPECT_EQ(equal.draws, 2000);
  EXPECT_EQ(equal.seeds, 1000);
  EXPECT_TRUE(recheck_ratios(ratios(1.2, kRecheckSeeds)).fails);
  EXPECT_FALSE(recheck_ratios(ratios(0.8, kRecheckSeeds)).fails);
  EXPECT_FALSE(recheck_ratios(std::vector<double>(200, 1.0)).fails) << "1 is not above 1";
  EXPECT_TRUE(recheck_ratios(std::vector<double>(200, kInfinity)).fails);
}

// Of medians of uniform numbers the interval is known: 0.5 +- 1.96 / (2 sqrt n).
TEST(Recheck, IntervalOfAMedian) {
  oracle::Dice dice(11);
  std::vector<double> r(10000);
  for (double& v : r) v = dice.uniform();
  const Recheck result = recheck_ratios(r);
  EXPECT_NEAR(result.high - result.low, 0.0196, 0.004);
  EXPECT_EQ(recheck_ratios(r, 5).low, recheck_ratios(r, 5).low);
}

// Of 201 ratios 88 are low: a sample's median is, where 101 of its ratios and more are, which has a
// probability of 3.8 percent (binomial, of 88 / 201), between 2.5 and 5. Of 80 it is below 2.5.
TEST(Recheck, TheEndsAreTwoAndAHalfPercent) {
  const auto of = [](std::size_t few, double value, double others) {
    std::vector<double> r(201, others);
    std::fill_n(r.begin(), few, value);
    return recheck_ratios(r, 7, 8000);
  };
  EXPECT_EQ(of(88, 0.5, 2).low, 0.5);
  EXPECT_FALSE(of(88, 0.5, 2).fails);
  EXPECT_EQ(of(80, 0.5, 2).low, 2);
  EXPECT_TRUE(of(80, 0.5, 2).fails);
  EXPECT_EQ(of(88, 2, 0.5).high, 2);
  EXPECT_EQ(of(80, 2, 0.5).high, 0.5);
}

TEST(Recheck, RefusesWhatSaysTooLittle) {
  EXPECT_EQ(error_of([] { recheck_ratios(std::vector<double>(199, 1.0)); }),
            "a re-check needs at least 200 seeds, and there are 199");
  std::vector<double> r(200, 1.0);
  r[3] = kNan;
  EXPECT_THAT(error_of([&] { recheck_ratios(r); }), HasSubstr("not nan"));
}

}  // namespace
}  // namespace assay
