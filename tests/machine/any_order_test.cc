#include "assay/machine/any_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"

namespace assay {
namespace {

using Values = std::vector<double>;

struct Errors {
  double variance = -1, drift = -1;
};

Errors errors_of(const AnyOrderUnit& unit, const Values& terms, double grid) {
  Errors errors;
  any_order_errors(unit, static_cast<std::int64_t>(terms.size()), 1, terms.data(), &grid,
                   &errors.variance, &errors.drift);
  return errors;
}

AnyOrderUnit float32_unit() { return AnyOrderUnit(format_named("float32")); }

Values normals(std::size_t n) {
  Random random(20261128, n);
  Values terms(n);
  for (double& t : terms) t = random.normal();
  return terms;
}

// Computes the variance by the formula in any_order.h. Each of its three parts is computed from the
// terms.
double variance_by_formula(const Values& terms) {
  const auto n = static_cast<double>(terms.size());
  double sum = 0, squares = 0, low = 0, high = 0;
  for (const double t : terms) {
    sum += t;
    squares += t * t;
    low = std::min(low, sum);
    high = std::max(high, sum);
  }
  double most =
      std::max((n + 1) * (sum * sum + squares), n * (high - low) * (high - low) + squares);
  for (std::size_t lanes = 2; lanes < terms.size() && lanes <= 1024; lanes *= 2) {
    double of_lanes = 0;
    for (std::size_t first = 0; first < lanes; ++first) {
      double lane = 0;
      for (std::size_t k = first; k < terms.size(); k += lanes) lane += terms[k];
      of_lanes += lane * lane;
    }
    const auto roundings = static_cast<double>(terms.size() / lanes + lanes);
    most = std::max(most, roundings * of_lanes + n * squares / 2);
  }
  return std::ldexp(most, -48) / 3;
}

TEST(AnyOrderErrors, FollowTheFormula) {
  for (const std::size_t n : {2U, 3U, 4U, 5U, 33U, 1000U, 3000U}) {
    const Values terms = normals(n);
    const Errors errors = errors_of(float32_unit(), terms, 0x1p-60);
    const double wanted = variance_by_formula(terms);
    EXPECT_NEAR(errors.variance, wanted, wanted * 1e-9) << n << " terms";
  }
}

TEST(AnyOrderErrors, AreZeroIfEveryPartialSumIsExact) {
  // The sizes of the terms add up to 2^24, so that every partial sum is exact.
  const Values terms = {0x1p23, -1, 0x1p23 - 1};
  EXPECT_EQ(errors_of(float32_unit(), terms, 1).variance, 0);
  EXPECT_EQ(errors_of(float32_unit(), terms, 1).drift, 0);
  EXPECT_GT(errors_of(float32_unit(), terms, 0.5).variance, 0);
}

TEST(AnyOrderErrors, AreInfiniteIfASumMayOverflow) {
  const Errors errors = errors_of(float32_unit(), {0x1p127, 0x1p127, -0x1p127}, 0x1p-30);
  EXPECT_EQ(errors.variance, kInfinity);
  EXPECT_EQ(errors.drift, 0);
}

// The sum of 1000 terms of 0.1 reaches 100, where an ulp is 2^-17. Every addition has the same
// remainder, so that the sum drifts.
TEST(AnyOrderErrors, OfConstantsDriftByTheirRemainders) {
  const double term = static_cast<double>(0.1F);
  double remainder = 0;
  for (const double grid : {0x1p-17, 0x1p-18, 0x1p-19}) {
    remainder = std::max(remainder, std::abs(std::nearbyint(term / grid) * grid - term));
  }
  const Values terms(1000, term);
  EXPECT_NEAR(errors_of(float32_unit(), terms, 0x1p-30).drift, 1000 * remainder, 1e-9);
  // A unit that truncates a quarter of its sums drifts by another half ulp for each term and for
  // each of 250 sums.
  AnyOrderUnit cuts = float32_unit();
  cuts.truncated = 0.25;
  EXPECT_NEAR(errors_of(cuts, terms, 0x1p-30).drift, 1000 * remainder + 1250 * 0x1p-18, 1e-9);
}

constexpr std::size_t kSideBySide = kAnyOrderColumns;

TEST(AnyOrderErrors, DoNotDependOnTheNumberOfColumns) {
  for (const std::size_t n : {1U, 2U, 9U, 300U}) {
    std::vector<Values> columns;
    Values all(n * kSideBySide), grids(kSideBySide, 0x1p-60), variance(kSideBySide),
        drift(kSideBySide);
    for (std::size_t w = 0; w < kSideBySide; ++w) {
      columns.push_back(normals(n + w));
      columns.back().resize(n);
      if (w % 2 == 1) columns.back().assign(n, 0.1);
      for (std::size_t k = 0; k < n; ++k) all[k * kSideBySide + w] = columns[w][k];
    }
    any_order_errors(float32_unit(), static_cast<std::int64_t>(n), kAnyOrderColumns, all.data(),
                     grids.data(), variance.data(), drift.data());
    for (std::size_t w = 0; w < kSideBySide; ++w) {
      const Errors alone = errors_of(float32_unit(), columns[w], grids[w]);
      EXPECT_EQ(variance[w], alone.variance) << n << " terms of column " << w;
      EXPECT_EQ(drift[w], alone.drift) << n << " terms of column " << w;
    }
  }
}

}  // namespace
}  // namespace assay
