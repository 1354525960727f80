// Tests the parts of the standard `expected_error` that can be computed by hand: the limits of the
// sum of squared errors, and the texts about errors of a known size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "assay/gate/bound_width.h"
#include "assay/gate/likely_arithmetic.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

Tensor wide_values(const Shape& shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named("float64"), shape, values);
}

// The mean and the deviation of the square of a normal number with mean m and deviation s. The mean
// is m^2 + s^2, and the variance is 2 s^4 + 4 m^2 s^2.
struct NormalSquare {
  NormalSquare(double m, double s)
      : mean(m * m + s * s), deviation(std::sqrt(2 * std::pow(s, 4) + 4 * m * m * s * s)) {}
  double mean, deviation;
};

// A weighted sum of squares of normal numbers exceeds its mean by sqrt(2 v t) + l t with a
// probability of exp(-t) (Laurent and Massart, lemma 1). Here v is the sum of the variances, and l
// is sqrt(2) times the largest deviation of a term. The probability is a fourth of 1e-9. Deviations
// may be 1.15 times as large, or as small. Elements with the same digits count as one.
TEST(ErrorSquares, LimitByHand) {
  ExpectedErrors errors;
  errors.resize(4);
  errors.variance = {1, 1, 0.25, 1};
  errors.mean = {2, 0, 0, 2};
  errors.drift = {0, 0, 0, 0};
  const ErrorTest test =
      error_test(errors, wide_values({4}, {1, 1.25, 1.5, 4}), format_named("float32"));
  ASSERT_TRUE(test.squares);
  const double t = std::log(4.0) + 9 * std::log(10.0);
  // Each element is divided by its expected square (5, 1, 1/4 and 5), so that the expected sum is
  // 4.
  const NormalSquare large(2, 1.15), middle(0, 1.15), small(0, 1.15 / 2);
  const double high = 2 * large.mean / 5 + middle.mean + 4 * small.mean;
  // The first and the last element are 1 and 4, which have the same digits and count as one.
  const double of_two = 2 * large.deviation / 5, of_one = middle.deviation,
               of_small = 4 * small.deviation;
  const double variances = of_two * of_two + of_one * of_one + of_small * of_small;
  const double largest = std::sqrt(2.0) * std::max({of_two, of_one, of_small});
  const double most = (high + std::sqrt(2 * variances * t) + largest * t) / 4;
  EXPECT_NEAR(test.squares->limit, most, 2e-6 * most);
  // There is no lower limit, because so few elements may all be exact.
  EXPECT_EQ(test.squares->parameter, 0);
}

// With very many elements that vary little, there is also a lower limit of the sum. It is the mean
// minus sqrt(2 v t), without the term l t of the upper limit.
TEST(ErrorSquares, LeastByHand) {
  constexpr std::size_t kMany = 4000;
  ExpectedErrors errors;
  errors.resize(kMany);
  errors.variance.assign(kMany, 1);
  std::vector<double> exact;
  for (std::size_t i = 0; i < kMany; ++i) exact.push_back(1 + static_cast<double>(i) / 8192);
  const ErrorTest test = error_test(errors, wide_values({static_cast<std::int64_t>(kMany)}, exact),
                                    format_named("float32"));
  ASSERT_TRUE(test.squares);
  const double t = std::log(4.0) + 9 * std::log(10.0), n = static_cast<double>(kMany);
  const NormalSquare most(0, 1.15), least(0, 1 / 1.15);
  const double wide = std::sqrt(2 * n * most.deviation * most.deviation * t);
  EXPECT_NEAR(test.squares->parameter, (n * least.mean - wide) / n, 1e-9);
  const double highest = n * most.mean + wide + std::sqrt(2.0) * most.deviation * t;
  EXPECT_NEAR(test.squares->limit, highest / n, 3e-6);
  // Sums in any order may have smaller errors. Only a largest error is expected of them.
  errors.at_most = true;
  const ErrorTest any = error_test(errors, wide_values({static_cast<std::int64_t>(kMany)}, exact),
                                   format_named("float32"));
  ASSERT_TRUE(any.squares);
  EXPECT_EQ(any.squares->parameter, 0);
  EXPECT_NEAR(any.squares->limit, highest / (n * most.mean), 3e-6);
}

// A matrix product of 64 equal elements, its output and the test of its squares.
struct EqualElements {
  static constexpr std::int64_t kMany = 64;
  Case test_case;
  Tensor golden;
  ErrorTest test;

  explicit EqualElements(double factor) {
    test_case.name = "x";
    test_case.op = "matmul";
    const Format& f = format_named("float32");
    test_case.inputs["a"] = Tensor::from_values(f, {1, 1}, std::vector<double>{1});
    test_case.inputs["b"] = Tensor::from_values(f, {1, kMany}, std::vector<double>(kMany, factor));
    golden = golden_result(test_case);
    test.weights =
        std::make_shared<const Tensor>(wide_values({1, kMany}, std::vector<double>(kMany, 1.0)));
  }
  std::string said(double output) const {
    return likely_arithmetic(test_case, machine_named("ascend910b"),
                             Tensor::from_values(format_named("float32"), {1, kMany},
                                                 std::vector<double>(kMany, output)),
                             golden, test, 1);
  }
};

// A conversion of inputs is named if it leaves less than a fourth of the squared errors. If the
// output is as far below 1 as the product is above, it leaves exactly a fourth, because all formats
// of fewer bits round the product to 1.
TEST(LikelyArithmetic, ConversionsLeaveLessThanAFourth) {
  const EqualElements equal(1 + 0x1p-13);
  EXPECT_EQ(equal.said(1 - 0x1p-13), "");
  EXPECT_THAT(equal.said(1 - 0x1p-14), testing::StartsWith("errors like those of tfloat32 or "));
  EXPECT_EQ(equal.said(1 - 0x1p-12), "");
}

// The elements of a line share one error. The square of that error, weighted for all elements, has
// twice the weighted sum as its largest step, and twice the square of that sum as its variance.
TEST(ErrorSquares, OfALineThatSharesItsErrorByHand) {
  ExpectedErrors errors;
  errors.resize(4);
  errors.variance = {1, 1, 1, 1};
  errors.shared = {0.75, 0.75, 0.75, 0.75};
  errors.line = {1, 1, 1, 1};
  const ErrorTest test =
      error_test(errors, wide_values({4}, {1, 1.25, 1.5, 1.75}), format_named("float32"));
  ASSERT_TRUE(test.squares);
  const double t = std::log(4.0) + 9 * std::log(10.0), more = 1.15 * 1.15;
  const double own = std::sqrt(2.0) * more, part = 4 * more * 0.75;
  const double variances = 4 * own * own + 2 * part * part, largest = std::max(2 * part, 2 * more);
  const double most = (4 * more + std::sqrt(2 * variances * t) + largest * t) / 4;
  EXPECT_NEAR(test.squares->limit, most, 2e-6 * most);
}

}  // namespace
}  // namespace assay
