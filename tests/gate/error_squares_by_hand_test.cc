// Compares error_test() of no element, one element and two with values computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/gate/bound_width.h"

namespace assay {
namespace {

TEST(ErrorTest, OfNoElementsExpectsNoError) {
  ExpectedErrors errors;
  errors.last = &format_named("bfloat16");
  const Tensor golden = Tensor::from_values(format_named("float64"), {0}, std::vector<double>{});
  const ErrorTest test = error_test(errors, golden, *errors.last);
  EXPECT_EQ(expected_rms(errors, golden, *errors.last), 0);
  EXPECT_FALSE(test.squares);
}

// One element lies at a number of the format, and its error before the last rounding has a
// deviation of 0.25 or 0.4 ulp. After rounding, it is k ulps off with the probability that a normal
// number lies between k - 1/2 and k + 1/2 ulps. Bernstein's bound gives the largest square with
// probability exp(-t). It is the sum of the mean, sqrt(2 t variance), and t times the larger of a
// third of a step and sqrt(2) deviations of the square. All deviations are 1.15 times those of the
// theory.
TEST(ErrorTest, TheLimitOfOneRoundedElementByHand) {
  constexpr double kUlp = 0x1p-7;
  for (const double deviation : {0.25, 0.4}) {
    ExpectedErrors errors;
    errors.resize(1);
    errors.last = &format_named("bfloat16");
    errors.variance = {deviation * deviation * kUlp * kUlp};
    const Tensor golden =
        Tensor::from_values(format_named("float64"), {1}, std::vector<double>{1.5});
    const auto moment = [](double sigma, int power) {
      double sum = 0;
      for (int k = 1; k <= 6; ++k) {  // of both signs
        const double p = std::erfc((k - 0.5) / (sigma * std::sqrt(2.0))) -
                         std::erfc((k + 0.5) / (sigma * std::sqrt(2.0)));
        sum += p * std::pow(k, power);
      }
      return sum;
    };
    const double wide = 1.15 * deviation, t = std::log(4e9);
    const double variance = moment(wide, 4) - moment(wide, 2) * moment(wide, 2);
    const double largest = std::max(2.0 / 3, std::sqrt(2 * variance));
    const double most = moment(wide, 2) + std::sqrt(2 * variance * t) + largest * t;
    const double wanted = most / moment(deviation, 2);
    const ErrorTest test = error_test(errors, golden, *errors.last);
    ASSERT_TRUE(test.squares);
    EXPECT_NEAR(test.squares->limit / wanted, 1, 3e-6) << deviation;
  }
}

// The right results are exact. Only the golden result's own error is left, which is 2^-51 of the
// element. It counts with 1.15 times its deviation, times kappa.
TEST(ErrorTest, OfExactResultsTheGoldenResultsErrorIsLeft) {
  ExpectedErrors errors;
  errors.resize(2);
  const Tensor golden =
      Tensor::from_values(format_named("float64"), {2}, std::vector<double>{1, -1024});
  const ErrorTest test = error_test(errors, golden, format_named("float32"));
  const double bound = 1.15 * std::sqrt(2 * std::log(8e9)) * 0x1p-51;
  EXPECT_NEAR(test.bounds->view().value_at(0), bound, 0x1p-52);
  EXPECT_NEAR(test.bounds->view().value_at(1), 1024 * bound, 0x1p-42);
  EXPECT_TRUE(test.squares);
}

}  // namespace
}  // namespace assay
