// Complex elements are judged by magnitude. tests/tools/complex_counts.py compares thousands of
// pairs with NumPy and PyTorch.
#include "assay/judge/complex.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/judge/pieces.h"
#include "assay/report.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::kMax;
using oracle::tolerance;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using ComplexValues = std::vector<std::complex<double>>;

Tensor complex_tensor(const char* dtype, const ComplexValues& values) {
  std::vector<double> parts;
  for (const auto& v : values) parts.insert(parts.end(), {v.real(), v.imag()});
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             parts);
}

std::int64_t mismatches(const ComplexValues& actual, const ComplexValues& expected,
                        const Bound& bound) {
  return judge(complex_tensor("complex128", actual), complex_tensor("complex128", expected), bound)
      .mismatches;
}

TEST(ComplexJudge, TheSizeOfTheDifferenceCounts) {
  // The difference is 3+4i, whose magnitude is 5: neither part is the error.
  EXPECT_EQ(mismatches({{13, 14}}, {{10, 10}}, tolerance(5, 0)), 0);
  EXPECT_EQ(mismatches({{13, 14}}, {{10, 10}}, tolerance(4.999, 0)), 1);
  EXPECT_EQ(mismatches({{3, 4.5}}, {{3, 4}}, tolerance(0, 0.1)), 0);
  EXPECT_EQ(mismatches({{3, 4.5}}, {{3, 4}}, tolerance(0, 0.0999)), 1);
  Bound largest = tolerance(0, 0.1);
  largest.rule = Rule::kLargest;
  largest.floor = 5;
  EXPECT_EQ(mismatches({{0.3, 0.4}, {0.3, 0.41}}, {{0, 0}, {0, 0}}, largest), 1);
  Bound symmetric = largest;
  symmetric.rule = Rule::kSymmetric;
  EXPECT_EQ(mismatches({{0.3, 0.4}, {0.3, 0.39}, {1, 2}}, {{0, 0}, {0, 0}, {1, 2}}, symmetric), 1);
  Bound small = tolerance(1, 0);
  small.small_value = 2;
  small.small_atol = 0.1;
  EXPECT_EQ(mismatches({{1.0, 0.5}, {3, 0.5}}, {{1, 0}, {3, 0}}, small), 1);
}

TEST(ComplexJudge, NanAndInfinity) {
  const Bound strict = tolerance(1, 1);
  Bound equal = strict;
  equal.nan_equal = true;
  // An element is NaN if either of its parts is, whatever the other part is.
  const ComplexValues nans = {{kNan, 0}, {0, kNan}, {kInfinity, kNan}, {kNan, kNan}};
  EXPECT_EQ(mismatches(nans, nans, strict), 4);
  EXPECT_EQ(mismatches(nans, {nans[3], nans[2], nans[1], nans[0]}, equal), 0);
  EXPECT_EQ(
      mismatches(nans, {{1, 1}, {kInfinity, 1}, {kInfinity, kInfinity}, {kInfinity, -kInfinity}},
                 equal),
      4);
  Bound accepts = strict;
  accepts.nan_accepts = true;
  EXPECT_EQ(mismatches({{1, 1}, {kInfinity, 0}}, {nans[0], nans[1]}, accepts), 0);
  // Infinite elements agree if both of their parts do.
  EXPECT_EQ(mismatches({{kInfinity, 1}, {kInfinity, -kInfinity}},
                       {{kInfinity, 1}, {kInfinity, -kInfinity}}, strict),
            0);
  EXPECT_EQ(mismatches({{kInfinity, 1}, {kInfinity, kInfinity}, {-kInfinity, 0}, {5, 5}},
                       {{kInfinity, 1.5}, {kInfinity, -kInfinity}, {kInfinity, 0}, {kInfinity, 5}},
                       strict),
            4);
  Bound fewer = strict;
  fewer.infinity = Infinity::kFewer;
  EXPECT_EQ(mismatches({{5, 5}, {kInfinity, 0}}, {{kInfinity, 5}, {5, 5}}, fewer), 1);
  const Verdict v = judge(complex_tensor("complex64", {{kInfinity, 1}, {1, 1}, {kNan, 1}}),
                          complex_tensor("complex64", {{kInfinity, 2}, {1, 1}, {kNan, 2}}), equal);
  EXPECT_EQ(v.special_mismatches, 1);
  EXPECT_EQ(v.metrics->inf_mismatch, 1);
  EXPECT_EQ(v.metrics->both_nan, 1);
  EXPECT_EQ(v.metrics->actual.positive_inf, 1);
  EXPECT_EQ(v.metrics->expected.nan, 1);
  EXPECT_EQ(v.metrics->compared, 1);
  EXPECT_THAT(explain(v),
              HasSubstr("[0]: actual inf+1j (0x7f800000, 0x3f800000), expected inf+2j"));
}

// NumPy passes all of these pairs, because the magnitude of the expected value overflows, and so
// does its tolerance. The judge finds the two wrong elements.
TEST(ComplexJudge, SizesBeyondFloat64ClearNothing) {
  const ComplexValues expected = {{kMax, kMax}, {kMax, kMax}, {kMax, kMax}, {kMax, -kMax}};
  const ComplexValues actual = {{0, kMax}, {kMax, kMax}, {kMax * (1 - 1e-7), kMax}, {-kMax, kMax}};
  const Bound bound = tolerance(0, 1e-5);
  const Verdict v =
      judge(complex_tensor("complex128", actual), complex_tensor("complex128", expected), bound);
  EXPECT_EQ(v.mismatches, 2);
  std::vector<std::int64_t> at;
  for (const Mismatch& mismatch : v.worst) at.push_back(mismatch.linear);
  EXPECT_THAT(at, testing::UnorderedElementsAre(0, 3));
  EXPECT_TRUE(std::isinf(magnitude_at(complex_tensor("complex128", expected), 0)));
  EXPECT_EQ(magnitude_at(complex_tensor("complex128", {{kMax / 2, 0}}), 0), kMax / 2);
}

TEST(ComplexJudge, AbsoluteBoundsOfSizesBeyondFloat64) {
  const ComplexValues expected = {{kMax, kMax}}, actual = {{kMax * (1 - 0x1p-10), kMax}};
  EXPECT_EQ(mismatches(actual, expected, tolerance(kMax * 0x1.1p-10, 0)), 0);
  EXPECT_EQ(mismatches(actual, expected, tolerance(kMax * 0x1p-11, 0)), 1);
  EXPECT_EQ(mismatches(actual, expected, tolerance(kMax * 0x1p-14, 0)), 1);
}

TEST(ComplexJudge, BitsAndSignedZeros) {
  Bound bits;
  bits.rule = Rule::kBits;
  EXPECT_EQ(mismatches({{0.0, -0.0}}, {{0.0, 0.0}}, bits), 1);
  EXPECT_EQ(mismatches({{0.0, -0.0}}, {{0.0, 0.0}}, tolerance(0, 0)), 0);
  EXPECT_EQ(mismatches({{1, kNan}, {2, 2}}, {{1, kNan}, {2, 2}}, bits), 0);
  EXPECT_EQ(mismatches({{1, kNan}, {2, 2}}, {{1, -kNan}, {2, 2}}, bits), 1);
  bits.nan_equal = true;
  EXPECT_EQ(mismatches({{1, kNan}, {2, 2}}, {{1, -kNan}, {2, 2}}, bits), 0);
  const Verdict same =
      judge(complex_tensor("complex64", {{1, 2}}), complex_tensor("complex128", {{1, 2}}), bits);
  EXPECT_TRUE(same.metrics->bit_identical);
  const Verdict zeros =
      judge(complex_tensor("complex64", {{1, -0.0}}), complex_tensor("complex64", {{1, 0}}), bits);
  EXPECT_FALSE(zeros.metrics->bit_identical);
}

// Under equal bits, an output of zeros would pass only if both expected parts are +0, and the right
// output is then untrusted. A minus sign of either part makes zeros a mismatch.
TEST(ComplexJudge, ZerosUnderEqualBits) {
  Bound bits;
  bits.rule = Rule::kBits;
  const double least = std::numeric_limits<double>::denorm_min();
  struct Expected {
    std::complex<double> value;
    Outcome outcome;
  };
  for (const Expected& e :
       {Expected{{0, 0}, Outcome::kUntrusted}, Expected{{0, -0.0}, Outcome::kPass},
        Expected{{-0.0, 0}, Outcome::kPass}, Expected{{-0.0, -0.0}, Outcome::kPass},
        Expected{{0, least}, Outcome::kPass}, Expected{{least, 0}, Outcome::kPass},
        // All elements of the golden result are NaN, so that nothing is compared.
        Expected{{0, kNan}, Outcome::kUntrusted}}) {
    const Tensor t = complex_tensor("complex128", {e.value, e.value, e.value});
    const Tensor output = t;
    const Verdict v = judge(output, t, bits);
    EXPECT_EQ(v.outcome, e.outcome) << e.value << ": " << v.because;
    EXPECT_EQ(v.blind.value_or(0), 0) << e.value;
  }
}

// The magnitude of a difference may overflow although those of both sides do not. The error is then
// infinite, and so is its size relative to the expected values, whose own sums are finite.
TEST(ComplexJudge, DifferencesBeyondFloat64AreInfinite) {
  const double large = 1.2e308;
  const Tensor actual = complex_tensor("complex128", {{-large, 0}, {0, large}, {-large, 0}}),
               expected = complex_tensor("complex128", {{large, 0}, {0, -large}, {large, 0}});
  const Verdict v = judge(actual, expected, tolerance(0, 1));
  ASSERT_TRUE(v.metrics);
  EXPECT_EQ(v.mismatches, 3);
  EXPECT_EQ(v.metrics->diff1, kInfinity);
  EXPECT_EQ(v.metrics->diff2, kInfinity);
  EXPECT_EQ(v.metrics->max_abs_error, kInfinity);
}

// A mismatch that no rounding explains is a failure. This holds for NaN, for infinity and for a
// difference of bits, too.
TEST(ComplexJudge, MissesThatNoRoundingExplains) {
  Bound bits;
  bits.rule = Rule::kBits;
  bits.round_expected = false;
  const Tensor one = complex_tensor("complex64", {{1, 0}, {1, 1}});
  EXPECT_EQ(judge(complex_tensor("complex64", {{1, 0x1p-30}, {1, 1}}), one, bits).outcome,
            Outcome::kFail);
  const Bound bound = tolerance(0, 1e-3, false);
  for (const std::complex<double> x : {std::complex<double>{kNan, 0}, {kInfinity, 0}, {2, 0}}) {
    const Tensor t = complex_tensor("complex64", {x, {1, 1}});
    EXPECT_EQ(judge(t, one, bound).outcome, Outcome::kFail) << x;
    EXPECT_EQ(judge(one, t, bound).outcome, Outcome::kFail) << x;
  }
}

// `nonzero` counts the expected elements that are finite and not 0.
TEST(ComplexJudge, WhichElementsAreNotZero) {
  const Tensor t = complex_tensor(
      "complex64", {{0, 0}, {-0.0, 0}, {0, 1}, {1, 0}, {kInfinity, 0}, {0, kInfinity}, {kNan, 1}});
  EXPECT_EQ(judge(complex_tensor("complex64", ComplexValues(7)), t, tolerance(0, 0)).nonzero, 2);
  for (const std::int64_t i : {2, 3}) EXPECT_EQ(magnitude_at(t, i), 1);
  const Tensor both = complex_tensor("complex64", {{1, 2}, {3, -4}, {5, 12}});
  EXPECT_EQ(magnitude_at(both, 1), 5);
  EXPECT_EQ(magnitude_at(both, 2), 13);
  EXPECT_EQ(value_text(both, 1, 3), "3-4j");
  EXPECT_EQ(value_text(both, 2, 3), "5+12j");
}

TEST(ComplexJudge, ExpectedValuesAreRoundedPartByPart) {
  const ComplexValues third = {{1.0 / 3, -2.0 / 3}};
  const Tensor output = complex_tensor("complex32", third),
               golden = complex_tensor("complex128", third);
  Bound rounds = tolerance(0, 0);
  EXPECT_EQ(judge(output, golden, rounds).outcome, Outcome::kPass);
  rounds.round_expected = false;
  const Verdict stored = judge(output, golden, rounds);
  EXPECT_EQ(stored.outcome, Outcome::kUntrusted);
  EXPECT_THAT(stored.because, HasSubstr("the correctly rounded result misses it too"));
}

// An output that is farther off than the rounded result is wrong, even if the rounded result would
// be a mismatch, too.
TEST(ComplexJudge, GarbageUnderABoundThatNothingMeetsFails) {
  const Tensor golden = complex_tensor("complex128", {{1 + 0x1p-12, 0}, {0, -1 - 0x1p-12}});
  const Bound bound = tolerance(0, 1e-6, false);
  EXPECT_EQ(judge(complex_tensor("complex32", {{1, 0}, {0, -1}}), golden, bound).outcome,
            Outcome::kUntrusted);
  for (const std::complex<double> garbage : {std::complex<double>{1.5, 0}, {1, 0.5}, {0.5, 0.5}}) {
    EXPECT_EQ(judge(complex_tensor("complex32", {garbage, {0, -1}}), golden, bound).outcome,
              Outcome::kFail)
        << garbage;
  }
}

TEST(ComplexJudge, ZerosAndBlindElements) {
  const ComplexValues expected = {{3, 4}, {0.003, 0.004}, {0, 0}};
  const Verdict v = judge(complex_tensor("complex64", expected),
                          complex_tensor("complex128", expected), tolerance(0.01, 0));
  EXPECT_EQ(v.nonzero, 2);
  EXPECT_EQ(v.blind, 1);
  EXPECT_EQ(v.outcome, Outcome::kPass);
  const Verdict trivial = judge(complex_tensor("complex64", expected),
                                complex_tensor("complex128", expected), tolerance(10, 0));
  EXPECT_EQ(trivial.outcome, Outcome::kUntrusted);
  EXPECT_THAT(trivial.because, StartsWith("an output of zeros would pass too"));
}

TEST(ComplexJudge, MetricsWithoutMeaningAreNotShown) {
  const Verdict v = judge(complex_tensor("complex64", {{3, 4.5}, {1, 0}}),
                          complex_tensor("complex64", {{3, 4}, {1, 0}}), tolerance(0, 0));
  EXPECT_EQ(v.metrics->max_abs_error, 0.5);
  EXPECT_EQ(v.metrics->max_abs_index, 0);
  EXPECT_DOUBLE_EQ(v.metrics->max_rel_error, 0.1);
  EXPECT_DOUBLE_EQ(v.metrics->required_rtol, 0.1);
  EXPECT_EQ(v.metrics->required_atol, 0.5);
  EXPECT_EQ(v.worst[0].error, 0.5);
  EXPECT_FALSE(v.worst[0].ulps);
  for (const Metric& metric : metric_table()) {
    EXPECT_EQ(metric.text(*v.metrics) == "-", metric.real_only) << metric.name;
  }
  // Ulps and small values are not defined for complex elements.
  for (const char* name : {"mean_ulp", "p99_ulp", "over_1_ulp", "over_32_ulp", "small_limit",
                           "small_error", "small_values", "small_value_errors"}) {
    EXPECT_EQ(find_metric(name)->text(*v.metrics), "-") << name;
  }
  EXPECT_THAT(metrics_text(v), HasSubstr("max ulp"));
}

// For vectors in the plane, the cosine is that of the angle between them. 3+4i and 4+3i both have
// length 5, and (3+4i) conj(4+3i) has real part 24: the cosine is 24 / 25.
TEST(ComplexJudge, TheCosineIsThatOfTheAngle) {
  const auto cosine = [](const ComplexValues& actual, const ComplexValues& expected) {
    return judge(complex_tensor("complex128", actual), complex_tensor("complex128", expected),
                 tolerance(0, 0))
        .metrics->cosine;
  };
  EXPECT_NEAR(cosine({{3, 4}}, {{4, 3}}), 0.96, 1e-14);
  EXPECT_NEAR(cosine({{6, 8}}, {{4, 3}}), 0.96, 1e-14);
  EXPECT_NEAR(cosine({{-4, 3}}, {{3, 4}}), 0, 1e-14);
  EXPECT_NEAR(cosine({{-3, -4}, {0, 1}}, {{3, 4}, {0, -1}}), -1, 1e-14);
}

TEST(ComplexJudge, TextsOfElements) {
  const Tensor x = complex_tensor("complex64", {{3, 4}, {1.5, -2}});
  EXPECT_EQ(value_text(x, 0, 6), "3+4j");
  EXPECT_EQ(value_text(x, 1, 6), "1.5-2j");
  EXPECT_EQ(magnitude_at(x, 0), 5);
  const Tensor real = Tensor::from_values(format_named("float32"), {2}, std::vector<double>{1, -2});
  EXPECT_EQ(value_text(real, 1, 6), "-2");
  EXPECT_EQ(magnitude_at(real, 1), 2);
}

TEST(ComplexJudge, RulesWithoutMeaningAreRefused) {
  const Tensor x = complex_tensor("complex64", {{1, 2}}), y = complex_tensor("complex64", {{1, 2}});
  const auto said = [&](auto change) {
    Bound bound = tolerance(0, 0);
    bound.standard = "s";
    change(bound);
    const Verdict v = judge(x, y, bound);
    EXPECT_EQ(v.outcome, Outcome::kNotComparable);
    return v.because;
  };
  const std::string start = "standard s takes real numbers, and the output is complex: ";
  EXPECT_EQ(said([](Bound& b) { b.rule = Rule::kUlps; }),
            start + "complex numbers have no order, and so no ulps");
  EXPECT_EQ(said([](Bound& b) { b.rule = Rule::kAccumulation; }),
            start + "no error of complex arithmetic is derived");
  EXPECT_EQ(said([](Bound& b) { b.rule = Rule::kDistribution; }),
            start + "no law of complex draws is known");
  EXPECT_EQ(said([](Bound& b) { b.rule = Rule::kIndices; }), start + "they are no indices");
  for (const Rule rule : {Rule::kStatistics, Rule::kTolerance}) {
    EXPECT_EQ(said([&](Bound& b) {
                b.rule = rule;
                b.limits.push_back({.statistic = Statistic::kMere, .limit = 1});
              }),
              start + "its limits are on statistics of real numbers");
  }
  EXPECT_EQ(said([](Bound& b) { b.infinity = Infinity::kSaturating; }),
            start + "of complex numbers no largest one stands for infinity (infinity=saturating)");
  const Tensor index = Tensor::from_values(format_named("int64"), {1}, std::vector<double>{0});
  const Tensor same = index;
  EXPECT_EQ(judge(index, same, *standard_bound("indices", index.format()),
                  {.index_source = x.view(), .index_axis = 0})
                .because,
            "the indices point into complex64, and values at them are compared as real numbers");
  const Tensor real = Tensor::from_values(format_named("float32"), {1}, std::vector<double>{1});
  EXPECT_EQ(judge(x, real, tolerance(0, 0)).because,
            "the output is complex64, the expected result float32: one is complex and one is real");
  EXPECT_EQ(judge(real, x, tolerance(0, 0)).because,
            "the output is float32, the expected result complex64: one is complex and one is real");
}

// The verdict is the same in pieces, with any number of threads, and through strides.
TEST(ComplexJudge, IsTheSameHoweverItIsRead) {
  const std::int64_t size = 2 * PiecewiseJudge::kUnit + 777;
  Random random(3, 1);
  std::vector<double> expected, actual;
  for (std::int64_t i = 0; i < 2 * size; ++i) {
    expected.push_back(random.normal());
    actual.push_back(expected.back() * (1 + 1e-4 * random.normal()));
  }
  actual[2 * 300000] = kNan;
  expected[2 * 400000 + 1] = kInfinity;
  const Tensor a = Tensor::from_values(format_named("complex64"), {size}, actual);
  for (const char* golden : {"complex64", "complex128"}) {
    const Tensor e = Tensor::from_values(format_named(golden), {size}, expected);
    const Bound bound = tolerance(1e-5, 1e-4);
    const Verdict whole = judge(a, e, bound, {.threads = 1});
    EXPECT_GT(whole.mismatches, 100);
    const std::string text = verdict_json(whole);
    EXPECT_EQ(verdict_json(judge(a, e, bound, {.threads = 3})), text);
    PiecewiseJudge judging(a.format(), a.shape(), bound);
    for (std::int64_t begin = 0; begin < size; begin += PiecewiseJudge::kUnit) {
      const std::int64_t count = std::min(PiecewiseJudge::kUnit, size - begin);
      judging.add(a.view().slice(begin, count), e.view().slice(begin, count));
    }
    EXPECT_EQ(verdict_json(judging.result()), text);
  }
  const Tensor grid =
      Tensor::from_values(format_named("complex64"), {3, 4}, std::span(expected).first(24));
  const Tensor turned = copy_of(grid.view().transposed());
  EXPECT_EQ(turned.shape(), (Shape{4, 3}));
  Bound bits;
  bits.rule = Rule::kBits;
  EXPECT_EQ(judge(turned, grid.view().transposed(), bits).outcome, Outcome::kPass);
  EXPECT_EQ(judge(turned.view().transposed(), grid, bits).outcome, Outcome::kPass);
}

TEST(ComplexJudge, AMissHasBothPartsOfBothSides) {
  for (const char* golden : {"complex64", "complex128"}) {
    const Verdict v = judge(complex_tensor("complex64", {{1, 2}, {3, 4}}),
                            complex_tensor(golden, {{1, 2}, {5, 8}}), tolerance(0, 0));
    ASSERT_EQ(v.worst.size(), 1u);
    const Mismatch& mismatch = v.worst[0];
    EXPECT_EQ(mismatch.actual, 3);
    EXPECT_EQ(mismatch.expected, 5);
    EXPECT_EQ(mismatch.actual_bits, 0x40400000u);
    EXPECT_EQ(mismatch.expected_bits, 0x40a00000u);
    ASSERT_TRUE(mismatch.imaginary);
    EXPECT_EQ(mismatch.imaginary->actual, 4);
    EXPECT_EQ(mismatch.imaginary->expected, 8);
    EXPECT_EQ(mismatch.imaginary->actual_bits, 0x40800000u);
    EXPECT_EQ(mismatch.imaginary->expected_bits, 0x41000000u);
  }
}

// Complex elements have no sign, no order and no size in ulps. The names below were chosen by hand:
// they are the metrics that need one of the three.
TEST(ComplexJudge, WhichMetricsNeedRealNumbers) {
  std::vector<std::string_view> names;
  for (const Metric& metric : metric_table()) {
    if (metric.real_only) names.push_back(metric.name);
  }
  EXPECT_THAT(names,
              testing::UnorderedElementsAre(
                  "bias", "error_balance", "ulp_compared", "max_ulp", "mean_ulp", "p99_ulp",
                  "over_1_ulp", "over_32_ulp", "small_limit", "small_error", "small_values",
                  "small_value_errors", "ulp_histogram", "share_ulp", "max_abs_ulp", "small_errors",
                  "mare_ratio_from", "mere_ratio_from", "rmse_ratio_from", "noise_ratio"));
}

// An expected element counts as rounded if either of its parts is rounded.
TEST(ComplexJudge, WhichExpectedValuesAreRounded) {
  const auto rounds = [](std::complex<double> expected) {
    return judge(complex_tensor("complex64", {expected}), complex_tensor("complex128", {expected}),
                 tolerance(1e-3, 0))
        .metrics->expected_rounds;
  };
  EXPECT_FALSE(rounds({1.5, -2.5}));
  EXPECT_TRUE(rounds({1.0 / 3, -2.5}));
  EXPECT_TRUE(rounds({1.5, -1.0 / 3}));
  EXPECT_TRUE(rounds({1.0 / 3, -1.0 / 3}));
}

// Two infinities that are equal agree only if their finite parts are equal, too.
TEST(ComplexJudge, WhichInfinitiesMismatch) {
  const auto mismatches = [](const std::vector<double>& a, const std::vector<double>& e) {
    const Tensor actual = Tensor::from_values(format_named("complex64"), {1}, a),
                 expected = Tensor::from_values(format_named("complex128"), {1}, e);
    return judge(actual, expected, oracle::tolerance(1, 1)).metrics->inf_mismatch;
  };
  EXPECT_EQ(mismatches({kInfinity, 2}, {kInfinity, 2}), 0);
  EXPECT_EQ(mismatches({2, kInfinity}, {2, kInfinity}), 0);
  EXPECT_EQ(mismatches({kInfinity, 2}, {kInfinity, 3}), 1);
  EXPECT_EQ(mismatches({3, kInfinity}, {2, kInfinity}), 1);
  EXPECT_EQ(mismatches({2, 2}, {2, kInfinity}), 1);
  EXPECT_EQ(mismatches({kInfinity, kInfinity}, {kInfinity, -kInfinity}), 1);
  EXPECT_EQ(mismatches({kInfinity, kNan}, {kInfinity, 3}), 0) << "NaN is counted by itself";
}

}  // namespace
}  // namespace assay
