// Tests the statistic of the mean error towards or away from zero, with values computed by hand.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "assay/judge/verdict.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::vector_of;

// The statistic is |sum w ulp(e) sign(e) d| / sum w ulp(e)^2, with the expected value e, the error
// d and the weight w. It sums the elements that have a weight and are not subnormal.
TEST(Statistics, MeanErrorsTowardsOrAwayFromZero) {
  Bound bound = oracle::tolerance(1e9, 0);
  bound.round_expected = false;
  bound.limits = {{.statistic = Statistic::kErrorBias, .limit = 1e9}};
  const auto read = [&](const std::vector<double>& a, const std::vector<double>& e,
                        const std::vector<double>& w) {
    const Tensor weights = vector_of("float64", w);
    JudgeOptions options;
    options.error_weights = weights.view();
    options.threads = 2;
    return judge(vector_of("bfloat16", a), vector_of("float64", e), bound, options)
        .readings.at(0)
        .value;
  };
  const double ulp = 0x1p-7;  // of 1 to 2
  EXPECT_DOUBLE_EQ(read({1}, {1 + 0.75 * ulp}, {3}), 0.75);
  EXPECT_DOUBLE_EQ(read({-1}, {-1 - 0.75 * ulp}, {3}), 0.75) << "towards zero, too";
  EXPECT_DOUBLE_EQ(read({1.5, -1.5}, {1.5 + 0.75 * ulp, -1.5 + 0.25 * ulp}, {1, 1}), 0.25);
  // 2 has twice the ulp of 1, so that it adds four times as much to the denominator.
  EXPECT_DOUBLE_EQ(read({1, 2}, {1 + 0.5 * ulp, 2}, {1, 1}), 0.5 / 5);
  // Zeros, subnormal numbers and elements without a weight do not count.
  EXPECT_DOUBLE_EQ(read({1, 1, 0, 1}, {1 + 0.5 * ulp, 0, 1e-39, 1 + ulp}, {1, 1, 1, 0}), 0.5);
  EXPECT_EQ(read({1}, {0}, {1}), 0);
  const std::size_t n = (std::size_t{1} << 18) + 3;
  EXPECT_DOUBLE_EQ(read(std::vector<double>(n, 1), std::vector<double>(n, 1 + ulp / 4),
                        std::vector<double>(n, 2)),
                   0.25);
}

}  // namespace
}  // namespace assay
