// Compares the metrics with their formulas, written out as one would in numpy, in long double.
#include "assay/judge/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/judge/metrics_pass.h"
#include "assay/judge/verdict.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::Dice;
using oracle::kMax;
using oracle::tolerance;
using oracle::vector_of;

Metrics metrics_of(const TensorView& actual, const TensorView& expected,
                   const Bound& bound = tolerance(1e-3, 1e-3)) {
  return judge(actual, expected, bound).metrics.value();
}

void expect_near(double value, long double wanted, double relative, const char* name) {
  if (std::isinf(wanted)) {
    EXPECT_EQ(value, static_cast<double>(wanted)) << name;
    return;
  }
  EXPECT_NEAR(value, static_cast<double>(wanted),
              relative * std::abs(static_cast<double>(wanted)) + 1e-300)
      << name;
}

struct Wanted {
  std::int64_t compared = 0, max_abs_index = -1, max_rel_index = -1;
  long double max_abs = 0, mean_abs = 0, max_rel = 0, mean_rel = 0, mse = 0, mere = 0, mare = 0;
  long double bias = 0, noise = 0, signal = 0, square = 0, product = 0;
  std::uint64_t max_ulps = 0;
};

Wanted straightforward(const TensorView& actual, const TensorView& expected) {
  Wanted w;
  long double relatives = 0;
  for (std::int64_t i = 0; i < actual.size(); ++i) {
    const long double a = actual.value_at(i), e = expected.value_at(i);
    if (!std::isfinite(a) || !std::isfinite(e)) continue;
    const long double error = a - e, size = std::abs(error);
    ++w.compared;
    if (size > w.max_abs) w.max_abs = size, w.max_abs_index = i;
    w.mean_abs += size;
    w.bias += error;
    if (e != 0 || size != 0) {  // if both are 0, there is no relative error
      const long double relative = size / std::abs(e);
      if (relative > w.max_rel) w.max_rel = relative, w.max_rel_index = i;
      w.mean_rel += relative;
      relatives += 1;
    }
    const long double floored = size / (std::abs(e) + 1e-7L);
    w.mere += floored;
    w.mare = std::max(w.mare, floored);
    w.noise += error * error;
    w.signal += e * e;
    w.square += a * a;
    w.product += a * e;
    const std::uint64_t bits = encode(*actual.format, expected.value_at(i));
    if (!is_nan(*actual.format, bits)) {
      w.max_ulps =
          std::max(w.max_ulps, oracle::steps_apart(*actual.format, actual.bits_at(i), bits));
    }
  }
  const auto n = static_cast<long double>(w.compared);
  w.mean_abs /= n;
  w.mean_rel /= relatives;
  w.mere /= n;
  w.bias /= n;
  w.mse = w.noise / n;
  return w;
}

void compare(const TensorView& actual, const TensorView& expected) {
  SCOPED_TRACE(std::string(actual.format->name) + " against " + std::string(expected.format->name));
  const Wanted w = straightforward(actual, expected);
  for (const int threads : {1, 2}) {
    JudgeOptions options;
    options.threads = threads;
    const Metrics m = judge(actual, expected, tolerance(1e-3, 1e-3), options).metrics.value();
    EXPECT_EQ(m.compared, w.compared);
    expect_near(m.max_abs_error, w.max_abs, 1e-15, "max_abs_error");
    EXPECT_EQ(m.max_abs_index, w.max_abs_index);
    expect_near(m.mean_abs_error, w.mean_abs, 1e-11, "mean_abs_error");
    expect_near(m.max_rel_error, w.max_rel, 1e-15, "max_rel_error");
    EXPECT_EQ(m.max_rel_index, w.max_rel_index);
    expect_near(m.mean_rel_error, w.mean_rel, 1e-11, "mean_rel_error");
    expect_near(m.rmse, std::sqrt(w.mse), 1e-11, "rmse");
    expect_near(m.mere, w.mere, 1e-11, "mere");
    expect_near(m.mare, w.mare, 1e-14, "mare");
    EXPECT_NEAR(m.bias, static_cast<double>(w.bias), 1e-11 * static_cast<double>(w.mean_abs));
    expect_near(m.snr_db, 10 * std::log10(w.signal / w.noise), 1e-10, "snr_db");
    expect_near(m.cosine, w.product / (std::sqrt(w.signal) * std::sqrt(w.square)), 1e-11, "cosine");
    expect_near(m.relative_l2, std::sqrt(w.noise / w.signal), 1e-11, "relative_l2");
    EXPECT_EQ(m.max_ulps, w.max_ulps);
    EXPECT_FALSE(m.bit_identical);
  }
}

Tensor noisy(const char* dtype, const std::vector<double>& golden, double noise,
             std::uint64_t seed) {
  Dice dice(seed);
  std::vector<double> a = golden;
  for (double& x : a) x += noise * (dice.uniform() - 0.5) * (std::abs(x) + 0.01);
  return vector_of(dtype, a);
}

// Bins by hand: two in each octave, for example 1 to 1.5 and 1.5 to 2, and one of [4, 6).
TEST(HistogramTest, QuantilesAreOfTheElementsInOrder) {
  Histogram h;
  h.per_octave = 2;
  h.below = 3;
  h.above = 1;
  h.bins = {{0, 2}, {1, 1}, {4, 3}};
  EXPECT_EQ(h.total(), 10);
  EXPECT_EQ(h.low(1), 1.5);
  EXPECT_EQ(h.high(1), 2.0);
  EXPECT_EQ(h.low(-1), 0.75);
  EXPECT_EQ(h.low(-2), 0.5);
  EXPECT_EQ(h.low(-3), 0.375);
  // Quantile q is the ceil(10 q)-th smallest of ten errors: three below all bins, which count as 0,
  // 1.25 twice, 1.75, 5 three times, and one beyond the range.
  EXPECT_EQ(h.quantile(0), 0.0);
  EXPECT_EQ(h.quantile(0.3), 0.0);
  EXPECT_EQ(h.quantile(0.31), 1.25);
  EXPECT_EQ(h.quantile(0.5), 1.25);
  EXPECT_EQ(h.quantile(0.55), 1.75);
  EXPECT_EQ(h.quantile(0.6), 1.75);
  EXPECT_EQ(h.quantile(0.65), 5.0);
  EXPECT_EQ(h.quantile(0.9), 5.0);
  EXPECT_EQ(h.quantile(0.95), kInfinity);
  EXPECT_TRUE(std::isnan(Histogram{}.quantile(0.5)));
}

TEST(HistogramTest, RanksAndSizes) {
  Histogram h;
  h.per_octave = 2;
  h.below = 3;
  h.above = 1;
  h.bins = {{0, 2}, {1, 1}, {4, 3}};
  const auto bin_is = [](double low, double high, std::int64_t before, std::int64_t count) {
    return testing::AllOf(testing::Field("low", &Histogram::Bin::low, low),
                          testing::Field("high", &Histogram::Bin::high, high),
                          testing::Field("before", &Histogram::Bin::before, before),
                          testing::Field("count", &Histogram::Bin::count, count));
  };
  EXPECT_THAT(h.bin_of(0), bin_is(0, 0x1p-160, 0, 3));
  EXPECT_THAT(h.bin_of(2), bin_is(0, 0x1p-160, 0, 3));
  EXPECT_THAT(h.bin_of(3), bin_is(1, 1.5, 3, 2));
  EXPECT_THAT(h.bin_of(4), bin_is(1, 1.5, 3, 2));
  EXPECT_THAT(h.bin_of(5), bin_is(1.5, 2, 5, 1));
  EXPECT_THAT(h.bin_of(6), bin_is(4, 6, 6, 3));
  EXPECT_THAT(h.bin_of(8), bin_is(4, 6, 6, 3));
  EXPECT_THAT(h.bin_of(9), bin_is(0x1p160, kInfinity, 9, 1));
  using Counts = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(h.at_least(0), Counts(10, 10));
  // At least 7 and at most 10 errors, because the three below all bins may be that large.
  EXPECT_EQ(h.at_least(0.5), Counts(7, 10));
  EXPECT_EQ(h.at_least(1), Counts(7, 7));
  EXPECT_EQ(h.at_least(1.25), Counts(5, 7));
  EXPECT_EQ(h.at_least(1.5), Counts(5, 5));
  EXPECT_EQ(h.at_least(5), Counts(1, 4));
  EXPECT_EQ(h.at_least(6), Counts(1, 1));
}

TEST(Metrics, AgreeWithTheFormulas) {
  Dice dice(3);
  std::vector<double> golden(5000);
  for (double& x : golden) {
    x = (dice.uniform() - 0.4) * std::ldexp(1.0, static_cast<int>(dice.below(12)) - 6);
    if (dice.below(50) == 0) x = 0;
  }
  for (const char* dtype :
       {"float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"}) {
    compare(noisy(dtype, golden, 1e-2, 4), vector_of("float64", golden));
    compare(noisy(dtype, golden, 1e-2, 4), vector_of(dtype, golden));
    compare(noisy(dtype, golden, 2.5, 5), vector_of("float32", golden));
  }
  std::vector<double> whole(5000);
  for (double& x : whole) x = static_cast<double>(dice.below(200)) - 100;
  for (const char* dtype : {"int8", "int16", "int32", "int64"}) {
    compare(noisy(dtype, whole, 0.1, 6), vector_of(dtype, whole));
  }
}

TEST(Metrics, AgreeWithTheFormulasAcrossParts) {
  Dice dice(8);
  std::vector<double> golden((1 << 18) + 3001);
  for (double& x : golden) x = dice.uniform() + 0.5;
  Tensor actual = noisy("float32", golden, 1e-3, 9);
  // The largest error is in the second part of 2^18 elements.
  actual.set_bits((1 << 18) + 77, encode(actual.format(), 9.0));
  compare(actual, vector_of("float64", golden));
}

TEST(Metrics, SpecialValuesAreLeftOutAndCounted) {
  const Tensor actual = vector_of("float16", {1, kNan, kInfinity, 2, -kInfinity, 0, -0.0, 6e-8,
                                              kNan, kInfinity, 3, -6e-5, 6.2e-5});
  const Tensor expected =
      vector_of("float16", {1, 1, 1, kNan, -kInfinity, 0, 5, 1, kNan, -kInfinity, 3.5, -6e-5, 1});
  const Verdict v = judge(actual, expected, tolerance(1e-3, 1e-3));
  const Metrics& m = *v.metrics;
  EXPECT_EQ(m.compared, 7);
  EXPECT_EQ(m.max_abs_error, 5);
  EXPECT_EQ(m.max_abs_index, 6);
  EXPECT_EQ(m.max_rel_index, 6);
  EXPECT_EQ(m.actual.nan, 2);
  EXPECT_EQ(m.actual.positive_inf, 2);
  EXPECT_EQ(m.actual.negative_inf, 1);
  EXPECT_EQ(m.actual.zero, 2);
  EXPECT_EQ(m.actual.subnormal, 2);
  EXPECT_EQ(m.expected.nan, 2);
  EXPECT_EQ(m.expected.positive_inf, 0);
  EXPECT_EQ(m.expected.negative_inf, 2);
  EXPECT_EQ(m.expected.zero, 1);
  EXPECT_EQ(m.expected.subnormal, 1);
  for (const double x : {m.mean_abs_error, m.max_rel_error, m.mean_rel_error, m.rmse, m.mere,
                         m.mare, m.bias, m.snr_db, m.cosine, m.relative_l2}) {
    EXPECT_TRUE(std::isfinite(x));
  }
}

TEST(Metrics, IdenticalTensors) {
  const Tensor t = vector_of("float32", {1, -2, 0, 3});
  const Metrics m = metrics_of(t, t);
  EXPECT_TRUE(m.bit_identical);
  EXPECT_EQ(m.max_abs_error, 0);
  EXPECT_EQ(m.max_abs_index, -1);
  EXPECT_EQ(m.max_ulps, 0u);
  EXPECT_EQ(m.snr_db, kInfinity);
  EXPECT_DOUBLE_EQ(m.cosine, 1);
  EXPECT_EQ(m.relative_l2, 0);
  EXPECT_EQ(m.required_rtol, 0);
  EXPECT_EQ(m.required_atol, 0);
}

// 0 against 0 has no relative error. Anything else against 0 has an infinite one.
TEST(Metrics, ZeroAgainstZero) {
  const Metrics m = metrics_of(vector_of("float32", {0, 1, 0}), vector_of("float32", {0, 2, -0.0}));
  EXPECT_EQ(m.max_rel_error, 0.5);
  EXPECT_EQ(m.max_rel_index, 1);
  EXPECT_EQ(m.mean_rel_error, 0.5);
  EXPECT_FALSE(m.bit_identical);
  const Metrics zeros = metrics_of(vector_of("float32", {0, 0}), vector_of("float32", {0, 0}));
  EXPECT_EQ(zeros.max_rel_error, 0);
  EXPECT_EQ(zeros.mean_rel_error, 0);
  EXPECT_EQ(zeros.relative_l2, 0);
  EXPECT_EQ(zeros.cosine, 1);
  const Metrics garbage = metrics_of(vector_of("float32", {5, 0}), vector_of("float32", {0, 0}));
  EXPECT_EQ(garbage.max_rel_error, kInfinity);
  EXPECT_EQ(garbage.max_rel_index, 0);
  EXPECT_EQ(garbage.mean_rel_error, kInfinity);
  EXPECT_EQ(garbage.median_rel_error, kInfinity);
  EXPECT_EQ(garbage.p99_rel_error, kInfinity);
  EXPECT_EQ(garbage.cosine, 0);
  EXPECT_EQ(garbage.snr_db, -kInfinity);
  EXPECT_EQ(garbage.relative_l2, kInfinity);
  EXPECT_EQ(garbage.required_rtol, kInfinity) << "no rtol mends an error at zero";
  EXPECT_EQ(garbage.required_atol, 5);
}

// Infinite errors also count in the median and in p99, on every path and with any number of
// threads.
TEST(Metrics, ErrorsWhereZeroIsExpected) {
  for (const char* dtype : {"float32", "float64", "bfloat16", "int32", "int64"}) {
    SCOPED_TRACE(dtype);
    std::vector<double> a(3000, 1), e(3000, 1);
    for (const std::size_t zero : {700U, 800U, 2900U}) e[zero] = 0;
    a[800] = 0;
    for (const int threads : {1, 3}) {
      JudgeOptions options;
      options.threads = threads;
      const Metrics m =
          *judge(vector_of(dtype, a), vector_of(dtype, e), tolerance(1e-3, 1e-3), options).metrics;
      EXPECT_EQ(m.relative, 2997);
      EXPECT_EQ(m.errors_at_zero, 2);
      EXPECT_EQ(m.max_rel_error, kInfinity);
      EXPECT_EQ(m.max_rel_index, 700);
      EXPECT_EQ(m.mean_rel_error, kInfinity);
      EXPECT_EQ(m.median_rel_error, 0);
      EXPECT_EQ(m.p99_rel_error, 0);
    }
  }
  std::vector<double> a(100, 1), e(100, 1);
  e[3] = e[4] = 0;
  EXPECT_EQ(metrics_of(vector_of("float32", a), vector_of("float32", e)).p99_rel_error, kInfinity);
}

TEST(Metrics, SignInverted) {
  const Metrics m = metrics_of(vector_of("float32", {-1, -2, -3}), vector_of("float32", {1, 2, 3}));
  EXPECT_DOUBLE_EQ(m.cosine, -1);
  EXPECT_DOUBLE_EQ(m.relative_l2, 2);
  EXPECT_DOUBLE_EQ(m.bias, -4);
  EXPECT_DOUBLE_EQ(m.max_rel_error, 2);
  EXPECT_NEAR(m.snr_db, -20 * std::log10(2), 1e-12);
}

// An output of NaN has no direction and no signal. Nothing was compared, and no score is given.
TEST(Metrics, NothingComparedIsNoPerfectScore) {
  const Metrics m = metrics_of(vector_of("float32", {kNan, kNan}), vector_of("float32", {1, 2}));
  EXPECT_EQ(m.compared, 0);
  EXPECT_NE(m.snr_db, kInfinity);
  EXPECT_NE(m.cosine, 1);
}

TEST(Metrics, BitIdentical) {
  EXPECT_FALSE(metrics_of(vector_of("float32", {0.0}), vector_of("float32", {-0.0})).bit_identical);
  EXPECT_TRUE(metrics_of(vector_of("float32", {kNan}), vector_of("float32", {kNan})).bit_identical);
  EXPECT_TRUE(metrics_of(vector_of("float16", {0.1}), vector_of("float64", {0.1})).bit_identical)
      << "the golden is rounded to the output's format";
}

TEST(Metrics, NanPayloadsAreNotBitIdentical) {
  Tensor a = vector_of("float32", {1, kNan}), e = a;
  a.set_bits(1, 0x7fc00001);
  const Verdict v = judge(a, e, oracle::same_bits());
  EXPECT_EQ(v.mismatches, 1);
  EXPECT_FALSE(v.metrics->bit_identical);
}

// Metrics of float64 values are right even if the squares of the values overflow or vanish.
TEST(Metrics, SquaresBeyondTheRangeOfFloat64) {
  for (const double scale : {1e200, 1e-200}) {
    const Metrics m = metrics_of(vector_of("float64", {2 * scale, 1 * scale}),
                                 vector_of("float64", {1 * scale, 1 * scale}));
    EXPECT_NEAR(m.relative_l2, std::sqrt(0.5), 1e-9) << scale;
    EXPECT_NEAR(m.snr_db, 10 * std::log10(2), 1e-9) << scale;
    EXPECT_NEAR(m.cosine, 3 / std::sqrt(10), 1e-9) << scale;
    EXPECT_NEAR(m.rmse / scale, std::sqrt(0.5), 1e-9) << scale;
    EXPECT_NEAR(m.mean_rel_error, 0.5, 1e-9) << scale;
  }
}

// A block's part of a sum must not be lost to rounding, and must not overflow float64, when the
// sums of blocks are added.
TEST(Metrics, SumsOfBlocksOfDifferentSizes) {
  constexpr std::size_t kElements = 3072;
  const Tensor zeros = vector_of("float64", std::vector<double>(kElements));
  std::vector<double> values(kElements);
  values[0] = 0x1p80, values[1024] = 3, values[2048] = -0x1p80;
  EXPECT_EQ(metrics_of(vector_of("float64", values), zeros).bias, 3.0 / kElements);
  const Tensor large = vector_of("float64", std::vector<double>(kElements, 3e152));
  const Metrics m = metrics_of(large, large);
  EXPECT_EQ(m.cosine, 1);
  EXPECT_EQ(m.snr_db, kInfinity);
}

// Distances in ulp are right even if the squares of the numbers overflow or underflow float64.
TEST(Metrics, MeanUlpsBeyondTheRangeOfSquares) {
  for (const double scale : {1e200, 1.0, 1e-200}) {
    const Tensor expected = vector_of("float64", {1.25 * scale, 1.5 * scale, scale, 3 * scale});
    Tensor actual = expected;
    const std::uint64_t apart[] = {1, 2, 0, 7};
    for (std::int64_t i = 0; i < 4; ++i) actual.set_bits(i, expected.bits_at(i) + apart[i]);
    const Metrics m = metrics_of(actual, expected);
    EXPECT_EQ(m.mean_ulps, 2.5) << scale;
    EXPECT_EQ(m.max_ulps, 7u) << scale;
  }
}

// The tolerance that the metrics report as required passes, and a smaller one does not.
TEST(Metrics, RequiredTolerances) {
  Dice dice(21);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> golden(50);
    for (double& x : golden) x = dice.uniform() * 10 - 5;
    const char* dtype = trial % 2 == 0 ? "float32" : "bfloat16";
    const Tensor expected = vector_of(trial % 3 == 0 ? "float64" : dtype, golden);
    const Tensor actual = noisy(dtype, golden, 0.1, dice.next());
    const Bound bound = tolerance(1e-4, 1e-4, trial % 5 != 0);
    const Verdict v = judge(actual, expected, bound);
    ASSERT_GT(v.mismatches, 0);
    const auto mismatches = [&](double atol, double rtol) {
      return judge(actual, expected, tolerance(atol, rtol, bound.round_expected)).mismatches;
    };
    const double rtol = v.metrics->required_rtol, atol = v.metrics->required_atol;
    ASSERT_GT(rtol, 0);
    ASSERT_GT(atol, 0);
    EXPECT_EQ(mismatches(bound.atol, rtol * (1 + 1e-12)), 0);
    EXPECT_GT(mismatches(bound.atol, rtol * (1 - 1e-9)), 0);
    EXPECT_EQ(mismatches(atol * (1 + 1e-12), bound.rtol), 0);
    EXPECT_GT(mismatches(atol * (1 - 1e-9), bound.rtol), 0);
  }
}

// The tolerance is exact to the last bit: someone who copies the number into a test must see it
// pass.
TEST(Metrics, RequiredTolerancesPassExactly) {
  Dice dice(22);
  int rtol_short = 0, atol_short = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<double> golden(20);
    for (double& x : golden) x = dice.uniform() * 10 - 5;
    const Tensor expected = vector_of("float32", golden);
    const Tensor actual = noisy("float32", golden, 0.1, dice.next());
    const Metrics m = metrics_of(actual, expected, tolerance(1e-4, 1e-4));
    rtol_short += judge(actual, expected, tolerance(1e-4, m.required_rtol)).mismatches > 0 ? 1 : 0;
    atol_short += judge(actual, expected, tolerance(m.required_atol, 1e-4)).mismatches > 0 ? 1 : 0;
  }
  EXPECT_EQ(rtol_short, 0) << "of 300 required_rtol do not pass";
  EXPECT_EQ(atol_short, 0) << "of 300 required_atol do not pass";
}

TEST(Metrics, RequiredTolerancesOfAPassAreBelowTheBound) {
  const Metrics m = metrics_of(vector_of("float64", {1.001, 2}), vector_of("float64", {1, 2}),
                               tolerance(0, 0.01));
  EXPECT_NEAR(m.required_rtol, 0.001, 1e-12);
  EXPECT_EQ(m.required_atol, 0);
}

TEST(Metrics, WorstRatio) {
  const Tensor expected = vector_of("float64", {1, 10, 100});
  EXPECT_NEAR(
      judge(vector_of("float64", {1.25, 10.5, 100}), expected, tolerance(0.5, 0.0)).worst_ratio, 1,
      1e-12);
  EXPECT_NEAR(
      judge(vector_of("float64", {1.25, 10.5, 101}), expected, tolerance(0, 0.1)).worst_ratio, 2.5,
      1e-12);
  EXPECT_EQ(judge(Tensor(expected), expected, tolerance(0, 0)).worst_ratio, 0);
  EXPECT_EQ(judge(vector_of("float64", {1, 10, kNan}), expected, tolerance(1, 1)).worst_ratio,
            kInfinity);
  EXPECT_EQ(judge(vector_of("float64", {1, 10, 101}), expected, tolerance(0, 0)).worst_ratio,
            kInfinity);
}

// The median of five errors is the middle one, to the resolution of the histogram.
TEST(Metrics, MediansAreTheMiddle) {
  const Metrics m = metrics_of(vector_of("float64", {1.5, 2.125, 4.125, 8.125, 16.125}),
                               vector_of("float64", {1, 2, 4, 8, 16}));
  EXPECT_EQ(m.max_rel_error, 0.5);
  EXPECT_NEAR(m.median_rel_error, 0.03125, 0.03125 / 8);
  EXPECT_EQ(m.max_abs_error, 0.5);
  EXPECT_NEAR(m.median_abs_error, 0.125, 0.125 / 8);
}

// Distances are whole numbers, even if float64 does not hold each of them.
TEST(Metrics, UlpsBeyondTheWholeNumbersOfFloat64) {
  const Format& f = format_named("float64");
  Tensor expected = vector_of("float64", {1.0, 1.0}), actual = expected;
  const std::uint64_t apart = (std::uint64_t{1} << 53) + 1;
  actual.set_bits(1, encode(f, 1.0) + apart);
  EXPECT_EQ(metrics_of(actual, expected).max_ulps, apart);
}

// 0 and -0 differ in bits, though not in value. Under bit equality the bound is 0, so that the
// ratio of this mismatch is infinite.
TEST(Metrics, WorstRatioOfBitEquality) {
  const Verdict v =
      judge(vector_of("float32", {0.0, 1}), vector_of("float32", {-0.0, 1}), oracle::same_bits());
  ASSERT_EQ(v.mismatches, 1);
  EXPECT_EQ(v.worst_ratio, kInfinity);
}

// Counts of special values are sums over all parts of a tensor.
TEST(Metrics, SpecialValuesOfEveryPartAreCounted) {
  const auto part = static_cast<std::size_t>(MetricsPass::kPart);
  std::vector<double> a(2 * part + 100, 1), e = a;
  // The output has one of each special value in the first part, two in the second and three in the
  // third. The expected values have twice as many.
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i <= p; ++i) {
      std::size_t at = p * part + 5 * i;
      for (const double special : {kInfinity, -kInfinity, kNan, 0.0, 0x1p-130}) {
        a[at] = e[at] = e[at + 50] = special;
        ++at;
      }
    }
  }
  const Metrics m = metrics_of(vector_of("float32", a), vector_of("float32", e));
  for (const auto& [tally, times] : {std::pair(m.actual, 1), std::pair(m.expected, 2)}) {
    EXPECT_EQ(tally.positive_inf, 6 * times);
    EXPECT_EQ(tally.negative_inf, 6 * times);
    EXPECT_EQ(tally.nan, 6 * times);
    EXPECT_EQ(tally.zero, 6 * times);
    EXPECT_EQ(tally.subnormal, 6 * times);
  }
}

// Five of a thousand errors are 8, and all others are 1. At least 99 percent are therefore at most
// 1, and so is p99.
TEST(Metrics, QuantilesLeaveFewLargeErrorsOut) {
  std::vector<double> a(1000, 5);
  for (std::size_t i = 0; i < 5; ++i) a[200 * i] = 12;
  const Metrics m =
      metrics_of(vector_of("float32", a), vector_of("float32", std::vector<double>(1000, 4)));
  EXPECT_EQ(m.max_abs_error, 8);
  for (const double error : {m.median_abs_error, m.p99_abs_error}) {
    EXPECT_GE(error, 1);
    EXPECT_LT(error, 1.5);
  }
  EXPECT_EQ(m.max_rel_error, 2);
  for (const double error : {m.median_rel_error, m.p99_rel_error}) {
    EXPECT_GE(error, 0.25);
    EXPECT_LT(error, 0.375);
  }
}

// An output without errors is 0 ulp off, and meets a limit below one ulp.
TEST(MetricsMaxAbsUlps, OfNoErrorAreNone) {
  for (const char* dtype : {"float32", "bfloat16", "float64"}) {
    const Tensor golden = vector_of(dtype, {1, -2, 0.5, 3}), output = golden;
    Bound bound;
    bound.rule = Rule::kStatistics;
    bound.limits = {{Statistic::kMaxAbsUlps, 0.5}};
    const Verdict v = judge(output, golden, bound);
    EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
    EXPECT_EQ(v.metrics.value().max_abs_ulps, 0) << dtype;
  }
}

// An infinity in place of a number is 2^52 or more ulps off, and is counted in the last bin. A
// distance just below that is in another bin.
TEST(Metrics, InfinitiesThatAreFarOffAreInTheLastBinOfUlps) {
  const auto ulps = [](const char* dtype, double actual, double expected) {
    return judge(oracle::vector_of(dtype, {actual, 1}), oracle::vector_of(dtype, {expected, 1}),
                 oracle::tolerance(1, 1))
        .metrics->ulps;
  };
  for (const double expected : {1.0, -kInfinity, 0x1p1023, 0x1.8p1023}) {
    const Histogram h = ulps("float64", kInfinity, expected);
    EXPECT_EQ(h.above, expected == 0x1.8p1023 ? 0 : 1) << expected;
    EXPECT_EQ(h.below, 1) << expected;
    EXPECT_EQ(h.total(), 2) << expected;
  }
  const Histogram h = ulps("float32", kInfinity, 1);
  EXPECT_EQ(h.above, 0);
  EXPECT_EQ(h.at_least(0x1p30 - 0x1p24).first, 1) << "127 * 2^23 + 2^23, less than 2^30";
  EXPECT_EQ(h.total(), 2);
}

// Returns a float64 pass over the elements, block by block.
MetricsPass pass_over(const Bound& bound, const std::vector<std::pair<double, double>>& elements,
                      std::int64_t first, std::size_t block = MetricsPass::kBlock) {
  MetricsPass pass(format_named("float64"), bound);
  for (std::size_t begin = 0; begin < elements.size(); begin += block) {
    double actual[MetricsPass::kBlock], expected[MetricsPass::kBlock];
    const std::size_t n = std::min(block, elements.size() - begin);
    for (std::size_t i = 0; i < n; ++i) {
      std::tie(actual[i], expected[i]) = elements[begin + i];
    }
    pass.add(actual, expected, expected, n, first + static_cast<std::int64_t>(begin), nullptr);
  }
  pass.finish();
  return pass;
}

// If several errors are equally large, the first is named as the largest: in a block, in a pass and
// across passes.
TEST(MetricsPass, TheFirstOfTheLargestErrorsIsNamed) {
  const Bound bound = tolerance(1e-3, 1e-3);
  const std::vector<std::pair<double, double>> elements = {{1, 1}, {5, 4}, {8, 8},
                                                           {5, 4}, {3, 4}, {1, 1}};
  for (const std::size_t block : {MetricsPass::kBlock, std::size_t{2}, std::size_t{1}}) {
    MetricsPass pass = pass_over(bound, elements, 10, block);
    pass.merge(pass_over(bound, elements, 16, block));
    const Metrics m = pass.result();
    EXPECT_EQ(m.max_abs_error, 1);
    EXPECT_EQ(m.max_abs_index, 11) << block;
    EXPECT_EQ(m.max_rel_error, 0.25);
    EXPECT_EQ(m.max_rel_index, 11) << block;
    // If there is no error, merging does not change the recorded positions.
    MetricsPass equal = pass_over(bound, {{1, 1}, {2, 2}}, 0, block);
    const Metrics none = equal.result();
    equal.merge(pass_over(bound, {{1, 1}, {2, 2}}, 2, block));
    EXPECT_EQ(equal.result().max_abs_index, none.max_abs_index);
    EXPECT_EQ(equal.result().max_rel_index, none.max_rel_index);
  }
}

// The reported ratio to the bound is the largest of all elements, whatever elements came before.
// Here the first error needs most atol, the second needs most rtol, and the third is furthest
// beyond its bound.
TEST(MetricsPass, TheRatioToTheBoundIsTheLargest) {
  const Bound bound = tolerance(1, 1);
  const std::vector<std::pair<double, double>> elements = {{32, 10}, {3.5, 0.5}, {10, 2}};
  for (const std::size_t block : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    const MetricsPass pass = pass_over(bound, elements, 0, block);
    EXPECT_EQ(pass.worst_ratio(), 8.0 / 3);
    const Metrics m = pass.result();
    EXPECT_EQ(m.required_atol, 12);
    EXPECT_EQ(m.required_rtol, 4);
  }
  Dice dice(17);
  for (const auto& [atol, rtol] : {std::pair(1.0, 1.0), {0.0, 0.5}, {0.25, 0.0}, {1.0, 0.125}}) {
    for (int draw = 0; draw < 200; ++draw) {
      std::vector<std::pair<double, double>> drawn(40);
      double ratio = 0;
      for (auto& [actual, expected] : drawn) {
        expected = std::exp2(8 * dice.uniform() - 4);
        actual = expected + std::exp2(8 * dice.uniform() - 5);
        ratio = std::max(ratio, (actual - expected) / (atol + rtol * expected));
      }
      EXPECT_NEAR(pass_over(tolerance(atol, rtol), drawn, 0, 8).worst_ratio() / ratio, 1, 1e-11)
          << atol << " " << rtol;
    }
  }
}

// The largest error is given in ulps of its own element, wherever that lies. If several are equal,
// it is the first of them.
TEST(MetricsPass, UlpsOfTheLargestErrorAreItsOwn) {
  for (const std::size_t place : {0u, 1u, 511u, 512u, 513u, 1500u, 2999u}) {
    std::vector<double> expected(3000, 1), actual(3000, 1);
    expected[place] = 1024, actual[place] = 1032;
    for (std::size_t i = place + 1; i < 3000; i += 100) expected[i] = 16, actual[i] = 24;
    for (const char* dtype : {"float16", "float32"}) {
      const Tensor a = oracle::vector_of(dtype, actual), e = oracle::vector_of("float64", expected);
      const Verdict v = judge(a, e, tolerance(1, 0));
      EXPECT_EQ(v.metrics.value().max_abs_index, static_cast<std::int64_t>(place));
      // The spacing at 1024 is 1 for float16, and 2^-13 for float32.
      EXPECT_EQ(v.metrics->max_abs_ulps, dtype == std::string("float16") ? 8 : 0x1p16) << place;
    }
  }
}

// Elements without an error are in no bin, whatever part of the tensor they lie in.
TEST(Metrics, HistogramsAreOfTheComparedElements) {
  const std::int64_t n = 400000;
  std::vector<double> values(static_cast<std::size_t>(n), 1.0);
  for (std::size_t i = 100; i < values.size(); i += 50000) values[i] = kNan;
  const Tensor output = vector_of("float32", values),
               golden = vector_of("float32", std::vector<double>(values.size(), 2.0));
  for (const int threads : {1, 2, 3}) {
    const Metrics m =
        judge(output, golden, tolerance(1e-3, 1e-3), {.threads = threads}).metrics.value();
    EXPECT_EQ(m.compared, n - 8);
    EXPECT_EQ(m.abs_errors.total(), n - 8) << threads;
    EXPECT_EQ(m.rel_errors.total(), n - 8) << threads;
    EXPECT_EQ(m.ulps.total(), n - 8) << threads;
  }
}

}  // namespace
}  // namespace assay
