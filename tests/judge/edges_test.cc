// Tests the places where the judge changes its method: many elements, many mismatches, ties, sizes
// that float64 does not hold, and views of one memory. Also tests laws of draws that get no
// probabilities, and saved metrics that do not hold what a rule needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/quad.h"
#include "assay/base/text.h"
#include "assay/judge/draw_distribution.h"
#include "assay/judge/regate.h"
#include "assay/judge/statistic_table.h"
#include "drawn_outputs.h"
#include "sorting.h"

namespace assay {
namespace {

using oracle::tolerance;
using oracle::vector_of;
using testing::HasSubstr;

// Quantiles of more elements than the sample holds must equal those of sorting. This includes
// errors of which only few lie below or above the range that the sample leaves.
TEST(JudgeEdges, QuantilesOfManyElements) {
  for (const std::size_t n : {(std::size_t{1} << 18) - 1, (std::size_t{1} << 18) + 4097}) {
    for (const bool ties : {false, true}) {
      oracle::Dice dice(101);
      std::vector<double> e(n), a(n);
      for (std::size_t i = 0; i < n; ++i) {
        e[i] = 1 + std::floor(1024 * dice.uniform()) / 1024;
        const double off = ties ? static_cast<double>(dice.below(3)) : 65536 * dice.uniform();
        a[i] = e[i] + std::floor(off) * 0x1p-20;
      }
      std::vector<double> absolute(n), relative(n);
      for (std::size_t i = 0; i < n; ++i) {
        absolute[i] = std::abs(a[i] - e[i]);
        relative[i] = absolute[i] / std::abs(e[i]);
      }
      sort_numbers(absolute);
      sort_numbers(relative);
      const Tensor actual = vector_of("float32", a);
      for (const char* golden : {"float32", "float64"}) {
        const Tensor expected = vector_of(golden, e);
        for (const double q : {0.0, 1e-5, 0.0088, 0.0095, 0.5, 0.9912, 0.99999, 1.0}) {
          const Limit limits[] = {
              {.statistic = Statistic::kQuantileAbs, .limit = 1, .parameter = q},
              {.statistic = Statistic::kQuantileRelative, .limit = 1, .parameter = q}};
          const auto readings =
              judge_statistics(actual, expected, {}, false, limits,
                               {.trivial = false, .blindness = false, .threads = 2})
                  .readings;
          const double rank = q * static_cast<double>(n - 1);
          const auto below = static_cast<std::size_t>(rank);
          const auto between = [&](const std::vector<double>& sorted) {
            const double low = sorted[below], high = sorted[std::min(below + 1, n - 1)];
            return low + (rank - std::floor(rank)) * (high - low);
          };
          EXPECT_DOUBLE_EQ(readings.at(0).value, between(absolute)) << q << " of " << n;
          EXPECT_DOUBLE_EQ(readings.at(1).value, between(relative)) << q << " of " << n;
        }
      }
    }
  }
}

// One bin of the histogram gets more elements than a 16-bit counter holds, in several parts of the
// tensor.
TEST(JudgeEdges, ManyErrorsOfOneSize) {
  const std::size_t n = (std::size_t{1} << 20) + 3;
  const Tensor actual = vector_of("float32", std::vector<double>(n, 1.25)),
               expected = vector_of("float32", std::vector<double>(n, 1));
  const Verdict v = judge(actual, expected, tolerance(1, 0), {.threads = 1});
  const auto count = static_cast<std::int64_t>(n);
  for (const Histogram* h : {&v.metrics->abs_errors, &v.metrics->rel_errors, &v.metrics->ulps}) {
    ASSERT_EQ(h->bins.size(), 1);
    EXPECT_EQ(h->bins.front().second, count);
  }
}

// The share of large errors is also computed for two trivial outputs: zeros, and the negated
// values, whose errors are twice as large.
TEST(JudgeEdges, SharesOfTrivialOutputs) {
  const Tensor ones = vector_of("float32", std::vector<double>(64, 1));
  const auto trivial_met = [&](double parameter, double limit) {
    const Limit limits[] = {
        {.statistic = Statistic::kShareAbs, .limit = limit, .parameter = parameter}};
    return judge_statistics(ones, ones, {}, false, limits).trivial_met;
  };
  EXPECT_FALSE(trivial_met(0.75, 0.5));
  EXPECT_FALSE(trivial_met(0.5, 0.5));
  EXPECT_TRUE(trivial_met(1.5, 0.5));
}

// Sums of squares and of relative errors of all sizes are right in every part.
TEST(JudgeEdges, SumsOfSizesThatFloat64DoesNotHold) {
  const std::size_t n = (std::size_t{1} << 18) + 5;
  std::vector<double> a(n, 2), e(n, 2);
  const double large = 0x1p700, small = 0x1p-700;
  a[1] = large, e[1] = large / 2;
  a[2] = small, e[2] = 3 * small;
  a[n - 1] = large, e[n - 1] = -large;
  a[n - 2] = 3, a[n - 3] = 0x1p-600, e[n - 3] = 0;
  Quad errors = 0, squares = 0, relative = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Quad x = a[i], y = e[i], d = x - y;
    errors += d * d;
    squares += x * x;
    const Quad off = d < 0 ? -d : d, size = y < 0 ? -y : y;
    relative += off == 0 ? Quad{0} : off / (y == 0 ? Quad{0x1p-52} : size);
  }
  const Limit limits[] = {{.statistic = Statistic::kNmse, .limit = 1},
                          {.statistic = Statistic::kMeanRelative, .limit = 1},
                          {.statistic = Statistic::kMaxRelative, .limit = 1}};
  const auto readings = judge_statistics(vector_of("float64", a), vector_of("float64", e), {},
                                         false, limits, {.trivial = false, .blindness = false})
                            .readings;
  EXPECT_DOUBLE_EQ(readings.at(0).value, static_cast<double>(errors / squares));
  EXPECT_DOUBLE_EQ(readings.at(1).value, static_cast<double>(relative / static_cast<Quad>(n)));
  EXPECT_EQ(readings.at(2).value, 2);
}

// The judge keeps the places of at most 65,536 mismatches in a part. If there are more, it names no
// place.
TEST(JudgeEdges, PlacesOfManyMisses) {
  const auto where = [](std::int64_t n, std::int64_t right) {
    Tensor actual(format_named("int8"), {n}), expected(format_named("int8"), {n});
    for (std::int64_t i = 0; i < n; ++i) {
      actual.set_bits(i, i < right ? 5 : 1);
      expected.set_bits(i, 5);
    }
    JudgeOptions options;
    options.metrics = options.patterns = false;
    const Verdict v = judge(actual, expected, oracle::same_bits(), options);
    EXPECT_EQ(v.mismatches, n - right);
    return v.where;
  };
  EXPECT_EQ(where(65536, 0), "every element");
  EXPECT_EQ(where(65537, 0), "") << "one of them is not kept";
  EXPECT_EQ(where(65536 + 77, 77), "the tail: every element from position 77 on");
  EXPECT_EQ(where((1 << 18) + 65000, (1 << 18) - 500),
            "the tail: every element from position 261 644 on");
}

// Two views of one memory are the same tensor only if every element lies in the same place.
TEST(JudgeEdges, ViewsOfOneMemory) {
  const Tensor square = oracle::tensor("float32", {2, 2}, {1, 2, 2, 3});
  TensorView turned = square.view();
  std::swap(turned.strides[0], turned.strides[1]);
  const auto outcome = [](const TensorView& a, const TensorView& e) {
    return judge(a, e, tolerance(1e-3, 0)).outcome;
  };
  EXPECT_EQ(outcome(square, square), Outcome::kUntrusted);
  EXPECT_EQ(outcome(turned, square), Outcome::kPass) << "its transpose is the same by its values";
  const Tensor row = oracle::tensor("float32", {1, 3}, {1, 2, 3});
  TensorView other = row.view();
  other.strides[0] = 77;
  EXPECT_EQ(outcome(other, row), Outcome::kUntrusted) << "of one row a stride says nothing";
  const Tensor copy = row;
  EXPECT_EQ(outcome(copy, row), Outcome::kPass);
}

// An output of zeros is a mismatch where a NaN or an infinity is expected, and no budget forgives
// that, so that the check is not blind. This holds for complex elements as for real ones.
TEST(JudgeEdges, ZerosMissWhereSpecialsAreExpected) {
  const auto outcome = [](const char* dtype, const std::vector<double>& values) {
    Bound bound = tolerance(1, 0, true, true);
    bound.max_blind = 1;
    bound.max_mismatches = 1;
    const Tensor a = oracle::tensor(dtype, {2}, values), e = a;
    return judge(a, e, bound).outcome;
  };
  EXPECT_EQ(outcome("float32", {0.5, 0.25}), Outcome::kUntrusted);
  EXPECT_EQ(outcome("float32", {0.5, kNan}), Outcome::kPass);
  EXPECT_EQ(outcome("float32", {0.5, kInfinity}), Outcome::kPass);
  EXPECT_EQ(outcome("complex64", {0.5, 0, 0.25, 0}), Outcome::kUntrusted);
  EXPECT_EQ(outcome("complex64", {0.5, 0, kNan, 0}), Outcome::kPass);
  EXPECT_EQ(outcome("complex64", {0.5, 0, 0, kInfinity}), Outcome::kPass);
}

// The worst ratio is the largest ratio of all limits. A group of limits counts with its smallest
// ratio.
TEST(JudgeEdges, RatiosOfLimitsInGroups) {
  const auto reading = [](Statistic statistic, double limit, double value, int group) {
    LimitReading r{{.statistic = statistic, .limit = limit, .group = group}, value, false};
    r.met = r.limit.met(value);
    return r;
  };
  const LimitReading half = reading(Statistic::kMaxAbs, 2, 1, 0);
  const LimitReading thrice = reading(Statistic::kMaxAbs, 2, 6, 0);
  const LimitReading in_group = reading(Statistic::kMaxAbs, 2, 6, 1);
  const LimitReading other = reading(Statistic::kRmse, 4, 3, 1);
  const LimitReading cosine = reading(Statistic::kCosine, 0.75, 0.875, 0);
  const LimitReading zero = reading(Statistic::kMaxAbs, 0, 0, 0);
  using Readings = std::vector<LimitReading>;
  EXPECT_EQ(worst_ratio(Readings{}), 0);
  EXPECT_EQ(worst_ratio(Readings{half, thrice}), 3);
  EXPECT_EQ(worst_ratio(Readings{half, in_group, other}), 0.75);
  EXPECT_EQ(worst_ratio(Readings{half, cosine, zero}), 0.5);
  EXPECT_TRUE(all_hold(Readings{half, in_group, other}));
  EXPECT_FALSE(all_hold(Readings{half, thrice}));
  EXPECT_FALSE(all_hold(Readings{half, in_group}));
  EXPECT_TRUE(holds(Readings{in_group, other}, in_group));
  EXPECT_FALSE(holds(Readings{half, thrice, other}, thrice));
  EXPECT_TRUE(holds(Readings{half, thrice, other}, half));
}

// The law of classes refuses values and shapes that are not probabilities, and draws that are not
// classes.
TEST(JudgeEdges, ProbabilitiesThatAreNone) {
  const auto said = [](const std::vector<double>& p, const Shape& shape,
                       std::vector<double> draws) {
    const Tensor actual = vector_of("int32", draws);
    const Bound bound = *standard_bound("distribution(categorical)", actual.format());
    const Verdict v = judge(actual, oracle::tensor("float64", shape, p), bound);
    return std::string(outcome_word(v.outcome)) + ": " + v.because;
  };
  EXPECT_THAT(said({0.5, 0.5}, {2, 1}, {0, 1}), HasSubstr("need probabilities of shape"));
  EXPECT_THAT(said({0.5, 0.5, 1, 0}, {2, 2}, {0}), HasSubstr("need probabilities of shape"));
  EXPECT_THAT(said({0.5, -0.5}, {2}, {0}), HasSubstr("holds -0.5, which is no probability"));
  EXPECT_THAT(said({0.5, kInfinity}, {2}, {0}), HasSubstr("holds inf, which is no probability"));
  EXPECT_THAT(said({0.5, 0.498}, {2}, {0}), HasSubstr("of draw 0 sum to 0.998, not to 1"));
  EXPECT_THAT(said({0.5, 0.5, 0.5, 0.6}, {2, 2}, {0, 0}), HasSubstr("of draw 1 sum to 1.1"));
  EXPECT_THAT(said({0.5, 0.4995}, {2}, {0}), HasSubstr("untrusted"));
  EXPECT_THAT(said({1, 0}, {2}, {0, 1}), HasSubstr("fail: 1 of 2 elements cannot be draws"));
  EXPECT_THAT(said({0.5, 0.5}, {2}, {0, 2}), HasSubstr("the first is element 1, 2"));
  EXPECT_THAT(said({0.5, 0.5}, {2}, {-1, 1}), HasSubstr("no class from 0 to 1 with a probability"));
}

// Saved metrics do not hold what some policies and rules need. The verdict is then "not
// comparable".
TEST(JudgeEdges, SavedMetricsAndPolicies) {
  const Tensor e = vector_of("float32", {1, 2, -4}), a = vector_of("float32", {1, 2.5, -4});
  const Verdict v = judge(a, e, tolerance(1, 0));
  const SavedResult saved{"case", &e.format(), 3, v.because, {*v.metrics}};
  const auto outcome = [&](const auto& change) {
    Bound bound = tolerance(1, 0);
    change(bound);
    return regate(saved, bound).outcome;
  };
  constexpr Outcome kUnknown = Outcome::kNotComparable;
  EXPECT_EQ(outcome([](Bound&) {}), Outcome::kPass);
  EXPECT_EQ(outcome([](Bound& b) { b.nan_accepts = true; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.infinity = Infinity::kFewer; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.small_value = 1e-30; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.max_mismatches = 1; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.max_mismatches = 0; }), Outcome::kPass);
  EXPECT_EQ(outcome([](Bound& b) { b.as_published = true; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.rule = Rule::kDistribution; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.rule = Rule::kIndices; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.rule = Rule::kAccumulation; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.rule = Rule::kLargest; }), kUnknown);
  EXPECT_EQ(outcome([](Bound& b) { b.atol = 4; }), Outcome::kUntrusted);
  EXPECT_EQ(outcome([](Bound& b) { b.atol = 0.25; }), Outcome::kFail);
}

}  // namespace
}  // namespace assay
