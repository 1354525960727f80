// Compares every statistic of the table with its definition, also for outputs that no sound check
// passes. The definitions take one element at a time and sum in numbers of 113 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/quad.h"
#include "assay/judge/regate.h"
#include "assay/judge/standards.h"
#include "assay/judge/statistic_table.h"
#include "emulated.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::vector_of;
using Wide = Quad;

Wide size_of(Wide v) { return v < 0 ? -v : v; }

// Sums over the elements of one output and the expected values.
struct Sums {
  double n = 0, far = 0, relative = 0, small = 0, most_ulps = 0, beyond = 0;
  std::vector<double> absolutes, relatives;
  Wide mere = 0, mare = 0, balance = 0, errors = 0, sizes = 0, most = 0, ulps = 0;
  Wide noise = 0, signal = 0, square = 0, product = 0;
  bool infinitely_far = false;
};

bool is_of_large(const Limit& limit) {
  return limit.statistic == Statistic::kLargeMareRatio ||
         limit.statistic == Statistic::kLargeMereRatio ||
         limit.statistic == Statistic::kLargeRmseRatio;
}

Sums sums_of(const Format& format, const std::vector<double>& values,
             const std::vector<double>& expected, const std::vector<bool>& counts,
             const Limit& limit) {
  Sums s;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!counts[i]) continue;
    if (is_of_large(limit) && std::abs(expected[i]) < limit.parameter) continue;
    const Wide a = values[i], e = expected[i], d = a - e, size = size_of(d), of = size_of(e);
    s.n += 1;
    s.mere += size / (of + static_cast<Wide>(1e-7));
    s.mare = std::max(s.mare, size / (of + static_cast<Wide>(1e-7)));
    s.balance += d / (of > 1 ? of : 1);
    s.errors += size;
    s.sizes += of;
    if (size > s.most) {
      s.most = size;
      if (limit.statistic == Statistic::kMaxAbsUlps) {
        s.most_ulps = static_cast<double>(size) / ulp_of(format, round_to(format, expected[i]));
        if (std::isnan(s.most_ulps)) s.most_ulps = kInfinity;  // the format cannot hold expected[i]
      }
    }
    const double off = std::abs(values[i] - expected[i]);
    s.absolutes.push_back(off);
    s.relatives.push_back(off == 0 ? 0
                                   : off / (expected[i] == 0 ? 0x1p-52 : std::abs(expected[i])));
    s.beyond += off > limit.parameter ? 1 : 0;
    s.noise += d * d;
    s.signal += e * e;
    s.square += a * a;
    s.product += a * e;
    s.relative += d != 0 && size >= static_cast<Wide>(limit.parameter) * of ? 1 : 0;
    s.small += of < static_cast<Wide>(limit.parameter) && size > static_cast<Wide>(limit.second);
    if (limit.statistic != Statistic::kShareUlps && limit.statistic != Statistic::kMeanUlps)
      continue;
    const std::uint64_t bits_a = encode(format, values[i]), bits_e = encode(format, expected[i]);
    double steps = kInfinity;
    if (!is_nan(format, bits_a) && !is_nan(format, bits_e)) {
      steps = static_cast<double>(oracle::steps_apart(format, bits_a, bits_e));
    }
    if (d == 0) steps = 0;
    s.infinitely_far |= std::isinf(steps);
    if (std::isfinite(steps)) s.ulps += steps;
    s.far += steps > limit.parameter ? 1 : 0;
  }
  return s;
}

// The largest error of an expected value after 0.3 was added and subtracted in the format.
// kNoiseRatio takes it for its noise.
double rounding_of(const Format& format, const std::vector<double>& expected,
                   const std::vector<bool>& counts) {
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!counts[i]) continue;
    const double in_format = round_to(format, expected[i]);
    const double there = round_to(format, in_format + static_cast<double>(0.3F));
    const double back = round_to(format, there - static_cast<double>(0.3F));
    if (const double shift = std::abs(round_to(format, back - in_format)); shift > most) {
      most = shift;
    }
  }
  return most;
}

// Interpolates linearly between two elements, as numpy.quantile does.
double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  const double rank = q * static_cast<double>(values.size() - 1), below = std::floor(rank);
  const double low = values[static_cast<std::size_t>(below)],
               high = values[static_cast<std::size_t>(std::ceil(rank))];
  return low == high ? low : low + (rank - below) * (high - low);
}

double root(Wide v) { return static_cast<double>(std::sqrt(static_cast<long double>(v))); }
double share(Wide x, Wide y) { return x == 0 ? 0 : static_cast<double>(x / y); }

double over(double own, double other, double floor) {
  return own == 0 ? 0 : own / std::max(other, floor);
}

double defined(const Limit& limit, const Sums& s, const Sums& peer, double u, double rounding) {
  if (s.n == 0) return 0;
  switch (limit.statistic) {
    case Statistic::kMere:
      return static_cast<double>(s.mere / s.n);
    case Statistic::kMare:
      return static_cast<double>(s.mare);
    case Statistic::kErrorBalance:
      return static_cast<double>(size_of(s.balance) / s.n);
    case Statistic::kDiff1:
      return share(s.errors, s.sizes);
    case Statistic::kDiff2:
      return s.noise == 0 ? 0 : root(s.noise / s.signal);
    case Statistic::kCosine:
      if (s.signal == 0 || s.square == 0) return s.signal == s.square ? 1 : 0;
      return static_cast<double>(s.product) / (root(s.signal) * root(s.square));
    case Statistic::kMaxAbs:
      return static_cast<double>(s.most);
    case Statistic::kMeanAbs:
      return static_cast<double>(s.errors / s.n);
    case Statistic::kRmse:
      return root(s.noise / s.n);
    case Statistic::kNmse:
      return s.noise == 0 ? 0 : static_cast<double>(s.noise) / static_cast<double>(s.square);
    case Statistic::kMaxRelative:
      return *std::max_element(s.relatives.begin(), s.relatives.end());
    case Statistic::kMeanRelative:
      return std::accumulate(s.relatives.begin(), s.relatives.end(), 0.0) / s.n;
    case Statistic::kQuantileAbs:
      return quantile(s.absolutes, limit.parameter);
    case Statistic::kQuantileRelative:
      return quantile(s.relatives, limit.parameter);
    case Statistic::kShareAbs:
      return s.beyond / s.n;
    case Statistic::kNoiseRatio:
      return s.most == 0 ? 0
                         : static_cast<double>(s.most) /
                               (2 * static_cast<double>(peer.most) + 2 * rounding);
    case Statistic::kMaxAbsUlps:
      return s.most_ulps;
    case Statistic::kShareRelative:
      return s.relative / s.n;
    case Statistic::kShareUlps:
      return s.far / s.n;
    case Statistic::kMeanUlps:
      return s.infinitely_far ? kInfinity : static_cast<double>(s.ulps / s.n);
    case Statistic::kCalcDiff:
      return share(s.signal + s.square - 2 * s.product, s.signal + s.square);
    case Statistic::kMareRatio:
      return static_cast<double>(s.mare) / std::max(static_cast<double>(peer.mare), u);
    case Statistic::kMereRatio:
      return static_cast<double>(s.mere / s.n) / std::max(static_cast<double>(peer.mere / s.n), u);
    case Statistic::kRmseRatio:
      if (s.noise == 0) return 0;
      return root(s.noise) / std::max(root(peer.noise), u * root(s.signal));
    case Statistic::kSmallErrors:
      return s.small / std::max(peer.small, 1.0);
    case Statistic::kLargeMareRatio:
      return over(static_cast<double>(s.mare), static_cast<double>(peer.mare), limit.parameter);
    case Statistic::kLargeMereRatio:
      return over(static_cast<double>(s.mere / s.n), static_cast<double>(peer.mere / s.n),
                  limit.parameter);
    case Statistic::kLargeRmseRatio:
      return over(root(s.noise / s.n), root(peer.noise / s.n), limit.parameter);
    case Statistic::kErrorSquares:
    case Statistic::kErrorBias:
      // Other tests cover these two statistics, because they need a weight for each element.
      break;
  }
  return kNan;
}

std::vector<double> rounded(const Format& format, std::vector<double> values) {
  for (double& v : values) v = round_to(format, v);
  return values;
}

// Returns every statistic with several parameters, some of which are exact in the histograms.
std::vector<Limit> every_limit() {
  std::vector<Limit> limits;
  for (const std::string& name : statistic_names()) {
    const Statistic statistic = *find_statistic(name);
    const int parameters = metric_of(statistic).limit->parameters;
    if (parameters == 0) limits.push_back({.statistic = statistic, .limit = 0.5});
    if (parameters == 1) {
      const bool is_quantile =
          statistic == Statistic::kQuantileAbs || statistic == Statistic::kQuantileRelative;
      for (const double p : {-1.0, 0.0, 1e-4, 1e-3, 0.0123, 1.0, 1.5, 2.0, 7.5, 100.0}) {
        if (is_quantile && (p < 0 || p > 1)) continue;
        limits.push_back({.statistic = statistic, .limit = 0.5, .parameter = p});
      }
    }
    if (parameters == 2) {
      for (const double p : {0x1p-11, 0x1p-14, 0.25}) {
        limits.push_back({.statistic = statistic, .limit = 2, .parameter = p, .second = 0x1p-16});
        limits.push_back({.statistic = statistic, .limit = 2, .parameter = p, .second = 0x1p-30});
      }
    }
  }
  return limits;
}

TEST(Statistics, AllOfThemAreWhatTheyAreDefinedToBe) {
  constexpr std::int64_t kCount = 600;
  oracle::Dice dice(41);
  int trivial = 0, sound = 0;
  // A run of a share of the tests takes every third trial, which still covers all dtypes and kinds.
  for (int trial = 0; trial < 24; trial += walks_a_share() ? 3 : 1) {
    const char* dtypes[] = {"float32", "float16", "bfloat16", "float8_e4m3fn", "float64"};
    const Format& format = format_named(dtypes[trial % 5]);
    const bool rounds = trial % 2 == 0, wide = trial % 3 != 0;
    std::vector<double> a(kCount), e(a.size()), b(a.size());
    const int reach = format.bits < 16 ? 6 : 14;
    for (std::size_t i = 0; i < a.size(); ++i) {
      e[i] =
          std::ldexp(dice.uniform() - 0.5,
                     static_cast<int>(dice.below(static_cast<std::uint64_t>(reach))) - reach + 2);
      if (trial % 4 == 3) e[i] = std::abs(e[i]) * 0x1p-13;
      if (dice.below(40) == 0) e[i] = 0;
      a[i] = e[i] * (1 + std::ldexp(dice.uniform() - 0.4, -static_cast<int>(dice.below(20))));
      b[i] = e[i] * (1 + 0.01 * (dice.uniform() - 0.5));
      if (dice.below(100) == 0) a[i] += 1e-3;
      if (trial > 14 && dice.below(100) == 0) e[i] = 1e39;  // which is finite only in float64
      if (trial > 14 && dice.below(100) == 0) a[i] = e[i] = -kInfinity;
      if (trial > 14 && dice.below(100) == 0) a[i] = kNan;
    }
    a = rounded(format, a);
    if (!wide) e = rounded(format, e);
    const Tensor ta = Tensor::from_values(format, {kCount}, a);
    const Tensor te =
        Tensor::from_values(format_named(wide ? "float64" : format.name), {kCount}, e);
    const Tensor tb = vector_of("float64", b);
    a = ta.view().values();
    e = te.view().values();
    if (rounds && wide && format.name != "float64") e = rounded(format, e);
    std::vector<bool> counts(a.size());
    std::vector<double> zeros(a.size()), negated(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      counts[i] = std::isfinite(a[i]) && std::isfinite(e[i]);
      negated[i] = -e[i];
    }
    const TensorView peer = tb.view();
    const double rounding = rounding_of(format, e, counts);
    for (const Limit& limit : every_limit()) {
      SCOPED_TRACE(testing::Message() << format.name << " trial " << trial << ": " << limit.text());
      const Sums of_reference = sums_of(format, b, e, counts, limit);
      const auto of = [&](const std::vector<double>& values) {
        return defined(limit, sums_of(format, values, e, counts, limit), of_reference,
                       unit_roundoff(format), rounding);
      };
      const StatisticsResult r = judge_statistics(ta, te, peer, rounds, std::span(&limit, 1));
      const double wanted = of(a);
      if (std::isfinite(wanted)) {
        EXPECT_NEAR(r.readings.at(0).value, wanted, 1e-12 * std::abs(wanted) + 1e-300);
      } else {
        EXPECT_EQ(r.readings.at(0).value, wanted);
      }
      EXPECT_EQ(r.met, limit.met(wanted));
      EXPECT_EQ(r.trivial_met, limit.met(of(zeros)) || limit.met(of(negated)));
      ++(r.trivial_met ? trivial : sound);
    }
  }
  EXPECT_GT(trivial, walks_a_share() ? 30 : 100);
  EXPECT_GT(sound, walks_a_share() ? 30 : 100);
}

// If 0 is expected, a relative error is the error divided by the spacing of float64 at 1.
TEST(Statistics, RelativeErrorsWhereZeroIsExpected) {
  const Tensor a = vector_of("float64", {3 * 0x1p-52, 1.5}), e = vector_of("float64", {0, 1});
  const auto value = [&](Statistic statistic) {
    const Limit limit{.statistic = statistic, .limit = 1};
    return judge_statistics(a, e, {}, false, std::span(&limit, 1)).readings.at(0).value;
  };
  EXPECT_EQ(value(Statistic::kMaxRelative), 3);
  EXPECT_EQ(value(Statistic::kMeanRelative), 1.75);
}

// 1 - 2 sum a e / sum (a^2 + e^2) cancels if the outputs are near. Sums of errors do not.
TEST(Statistics, CalcDiffDoesNotCancel) {
  const double step = 0x1p-40;
  const std::vector<double> e(1000, 1.0), a(1000, 1.0 + step);
  const Limit limit{.statistic = Statistic::kCalcDiff, .limit = 1e-3};
  const auto r = judge_statistics(vector_of("float64", a), vector_of("float64", e), {}, false,
                                  std::span(&limit, 1));
  // The exact value of the statistic is step^2 / ((1 + step)^2 + 1).
  const Wide exact = Wide{step} * step / ((1 + Wide{step}) * (1 + Wide{step}) + 1);
  EXPECT_NEAR(r.readings[0].value / static_cast<double>(exact), 1, 1e-12);
  double product = 0, both = 0;
  for (std::size_t i = 0; i < e.size(); ++i) {
    product += a[i] * e[i];
    both += a[i] * a[i] + e[i] * e[i];
  }
  const double cancelled = 1 - 2 * product / both;
  EXPECT_GT(std::abs(cancelled / static_cast<double>(exact) - 1), 1e-6) << "as written down";
}

// A pass of the caller over the same elements gives the same bits as a separate one, with any
// number of threads.
TEST(Statistics, OfAPassThatIsThereAlready) {
  oracle::Dice dice(5);
  const auto size = static_cast<std::size_t>(MetricsPass::kPart + 4321);
  std::vector<double> a(size), e(size);
  for (std::size_t i = 0; i < size; ++i) {
    e[i] = dice.uniform() - 0.5;
    a[i] = e[i] * (1 + 1e-3 * dice.uniform());
  }
  const Tensor ta = vector_of("float32", a), te = vector_of("float64", e);
  for (const char* name :
       {"cann_ecosystem@2025", "msprobe", "msprobe_ulp", "deepgemm", "mlu_ops"}) {
    const Bound bound = oracle::bound_of(name, "float32");
    const auto own =
        judge_statistics(ta, te, {}, bound.round_expected, bound.limits, {.threads = 2});
    for (const bool metrics : {true, false}) {
      const Verdict v = judge(ta, te, bound, {.metrics = metrics, .threads = 1});
      EXPECT_EQ(v.metrics.has_value(), metrics);
      for (std::size_t i = 0; i < own.readings.size(); ++i) {
        EXPECT_EQ(v.readings.at(i).value, own.readings[i].value) << name;
      }
    }
  }
}

// The judge gives the same result from saved metrics as from the tensors, for equal infinities and
// for expected values beyond the output's dtype.
TEST(Statistics, SavedOnesAreTheJudges) {
  std::vector<double> e(64, 3.0), a(64, 3.0);
  for (std::size_t i = 0; i < 8; ++i) a[i] = 3 + 0x1p-16;
  for (std::size_t i = 60; i < 64; ++i) a[i] = e[i] = kInfinity;
  const Tensor ta = vector_of("float32", a), te = vector_of("float32", e);
  Bound bound;
  bound.rule = Rule::kStatistics;
  bound.round_expected = false;
  // 8 of 60 finite elements are 64 ulp off.
  for (const double mean : {8.0, 8.6}) {
    bound.limits = {{.statistic = Statistic::kMeanUlps, .limit = mean}};
    const Verdict v = judge(ta, te, bound);
    EXPECT_NEAR(v.readings.at(0).value, 8 * 64.0 / 60, 1e-12);
    const SavedResult saved{"", ta.view().format, v.sites, "", {*v.metrics}};
    EXPECT_EQ(regate(saved, bound).outcome, v.outcome) << mean;
  }
  // If only limits decide, a finite output is not a mismatch when the stored expected value
  // overflows float16.
  const Tensor half = vector_of("float16", {1, 2, 65504}),
               large = vector_of("float64", {1, 2, 65530});
  bound.limits = {{.statistic = Statistic::kMere, .limit = 1e-3}};
  const Verdict v = judge(half, large, bound);
  EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
  const SavedResult saved{"", half.view().format, v.sites, "", {*v.metrics}};
  EXPECT_NE(regate(saved, bound).outcome, Outcome::kFail);
}

// The errors are 0, 1, 4, 9, ... 4096 in some order. The quantile (i + t) / 64 lies between i^2 and
// (i + 1)^2.
TEST(StatisticsOfFewElements, QuantilesLieBetweenTwoErrors) {
  std::vector<double> e, a;
  for (int i = 0; i <= 64; ++i) {
    const int root = i * 27 % 65;
    e.push_back(i % 2 == 0 ? 2 : -2);
    a.push_back(e.back() + (i % 3 == 0 ? 1 : -1) * root * root);
  }
  const Tensor ta = vector_of("float64", a), te = vector_of("float64", e);
  for (const int i : {0, 1, 6, 23, 40, 63}) {
    for (const double t : {0.0, 0.25, 0.5}) {
      const double q = (i + t) / 64, wanted = i * i + t * (2 * i + 1);
      const Limit limits[] = {
          {.statistic = Statistic::kQuantileAbs, .limit = 1, .parameter = q},
          {.statistic = Statistic::kQuantileRelative, .limit = 1, .parameter = q},
          {.statistic = Statistic::kQuantileAbs, .limit = 1, .parameter = 1}};
      const auto r = judge_statistics(ta, te, {}, false, limits).readings;
      EXPECT_EQ(r.at(0).value, wanted) << q;
      EXPECT_EQ(r.at(1).value, wanted / 2) << q;
      EXPECT_EQ(r.at(2).value, 4096);
    }
  }
}

// For expected values 4, 1/4, 1/4, 1/4 and 4, the median error of an output of zeros is within the
// limit of 1, and so is that of the negated values. For 4, 1/4, 4, 1/4 and 4 it is not.
TEST(StatisticsOfFewElements, ZerosThatAMedianForgives) {
  const Limit limit{.statistic = Statistic::kQuantileAbs, .limit = 1, .parameter = 0.5};
  for (const double third : {0.25, 4.0}) {
    const Tensor e = vector_of("float64", {4, 0.25, third, 0.25, 4});
    const StatisticsResult r = judge_statistics(e, e, {}, false, std::span(&limit, 1));
    EXPECT_TRUE(r.met);
    EXPECT_EQ(r.trivial_met, third < 1) << third;
  }
}

// If no element is finite on both sides, every statistic is 0.
TEST(StatisticsOfFewElements, OfNoneEveryStatisticIsZero) {
  const Tensor none = vector_of("float32", {kNan, kInfinity, kNan});
  const TensorView peer = none.view();
  for (const Limit& limit : every_limit()) {
    if (limit.needs_weights()) continue;
    const auto r = judge_statistics(none, none, peer, true, std::span(&limit, 1)).readings;
    ASSERT_EQ(r.size(), 1u) << limit.text();
    EXPECT_EQ(r[0].value, 0) << limit.text();
  }
}

// The rounding of the expected values, by hand. bfloat16 has steps of 1/128 above 1 and 1/256
// below. 1 + 0.3 is rounded to 166/128, and that less 0.3 to 255/256, which is 1/256 off. 3 + 0.3
// is rounded to 211/64, and that less 0.3 to 3. The statistic divides the error, 1/64, by twice the
// error of the reference implementation plus twice this noise.
TEST(StatisticsOfFewElements, TheNoiseOfRounding) {
  const Limit limit{.statistic = Statistic::kNoiseRatio, .limit = 1};
  const auto ratio = [&](double expected, double peer) {
    const Tensor a = vector_of("bfloat16", {expected + 0x1p-6}),
                 e = vector_of("float64", {expected}), b = vector_of("float64", {peer});
    const TensorView view = b.view();
    return judge_statistics(a, e, view, true, std::span(&limit, 1)).readings.at(0).value;
  };
  EXPECT_EQ(ratio(1, 1), 2);
  EXPECT_EQ(ratio(1, 1 + 0x1p-8), 1);
  EXPECT_EQ(ratio(3, 3), kInfinity);
}

// A mean is the float64 that is nearest to the exact mean, even if one term is 2^53 times and one
// 2^110 times smaller than the largest. If 0 is expected, the relative error is the error divided
// by 2^-52.
TEST(StatisticsOfFewElements, AMeanOfTermsOfAllSizesIsTheNearest) {
  for (const int size : {800, 801, 850, 900, 960}) {
    const Tensor a = vector_of("float64", {std::ldexp(1.0, size - 52), std::ldexp(1.0, size - 53),
                                           std::ldexp(1.0, size - 110), 1}),
                 e = vector_of("float64", {0, 1, 1, 1});
    const Limit limit{.statistic = Statistic::kMeanRelative, .limit = 1};
    const auto r = judge_statistics(a, e, {}, false, std::span(&limit, 1)).readings;
    // The exact mean, (1 + 2^-53 + 2^-110) 2^size / 4, is above the middle of two neighbours, so
    // that it is rounded up.
    EXPECT_EQ(r.at(0).value, std::ldexp(1 + 0x1p-52, size - 2)) << size;
  }
}

// Ulps are counted for elements that are finite on both sides. Elements opposite to NaN or infinity
// are left out. An expected value beyond the output's format is as far off as the format's
// infinity. If the format has no infinity, it is infinitely far off.
TEST(StatisticsOfFewElements, UlpsAreOfFiniteElements) {
  struct Pair {
    double actual, expected, mean, share;
  };
  const auto expect = [](const char* dtype, double one_up, const std::vector<Pair>& pairs) {
    for (const Pair& p : pairs) {
      SCOPED_TRACE(testing::Message() << dtype << " " << p.actual << " for " << p.expected);
      // One of the first four elements is one step off.
      const Tensor a = vector_of(dtype, {one_up, 2, 3, 4, p.actual}),
                   e = vector_of("float64", {1, 2, 3, 4, p.expected});
      const Limit limits[] = {{.statistic = Statistic::kMeanUlps, .limit = 1},
                              {.statistic = Statistic::kShareUlps, .limit = 1, .parameter = 0}};
      const auto r = judge_statistics(a, e, {}, false, limits).readings;
      EXPECT_EQ(r.at(0).value, p.mean);
      EXPECT_EQ(r.at(1).value, p.share);
    }
  };
  std::vector<Pair> left_out;
  for (const double x : {kNan, kInfinity, -kInfinity}) {
    for (const double y : {kNan, kInfinity, -kInfinity, 1.0, 1e6}) {
      left_out.push_back({x, y, 0.25, 0.25});
      if (std::isfinite(y) && y < 100) left_out.push_back({y, x, 0.25, 0.25});
    }
  }
  expect("float16", 1 + 0x1p-10, left_out);
  expect("bfloat16", 1 + 0x1p-7, left_out);
  expect("float16", 1 + 0x1p-10,
         {{65504, 1e6, 0.4, 0.4}, {-65504, -1e6, 0.4, 0.4}, {65504, 65504, 0.2, 0.2}});
  expect("float8_e4m3fn", 1.125,
         {{kNan, kNan, 0.25, 0.25},
          {kNan, 1, 0.25, 0.25},
          {1, kNan, 0.25, 0.25},
          {448, kInfinity, 0.25, 0.25},
          {kNan, 1000, 0.25, 0.25},
          {448, 1000, kInfinity, 0.4},
          {448, 448, 0.2, 0.2}});
}

// Float16 outputs may be one ulp off anywhere, and more at a thousandth of the elements.
TEST(Statistics, ShareOfUlpsCountsWhatIsFurtherOffThanOne) {
  const Bound bound = oracle::bound_of("msprobe_ulp", "float16");
  const auto outcome = [&](std::size_t far) {
    std::vector<double> values(1000, 1 + 0x1p-10);
    for (std::size_t i = 0; i < far; ++i) values[i] = 1 + 0x1p-9;
    return judge(vector_of("float16", values), vector_of("float16", std::vector<double>(1000, 1)),
                 bound)
        .outcome;
  };
  EXPECT_EQ(outcome(0), Outcome::kPass);
  EXPECT_EQ(outcome(2), Outcome::kFail);
}

// The mean ulps of a single element are the ulps of this element.
TEST(Statistics, MeanUlpsOfOneElement) {
  Bound bound;
  bound.rule = Rule::kStatistics;
  bound.round_expected = false;
  bound.limits = {{.statistic = Statistic::kMeanUlps, .limit = 64}};
  const Verdict v =
      judge(vector_of("float32", {1 + 100 * 0x1p-23}), vector_of("float32", {1}), bound);
  EXPECT_EQ(v.readings.at(0).value, 100);
  EXPECT_EQ(v.outcome, Outcome::kFail);
}

// Zeros are 15360 ulps from 1 in float16. They meet a limit on the share of elements beyond 15360
// ulps or more, and a limit on the mean above 15360, even if there are fewer float16 values.
TEST(Statistics, ZerosThatALimitOnUlpsForgives) {
  const Tensor e = vector_of("float16", std::vector<double>(100, 1));
  const auto trivial = [&](const Limit& limit) {
    return judge_statistics(e, e, {}, false, std::span(&limit, 1)).trivial_met;
  };
  for (const double ulps : {1.0, 15359.0, 15360.0, 30000.0, 65535.0, 1e6, 1e300}) {
    EXPECT_EQ(trivial({.statistic = Statistic::kShareUlps, .limit = 0.01, .parameter = ulps}),
              ulps >= 15360)
        << ulps;
    EXPECT_EQ(trivial({.statistic = Statistic::kMeanUlps, .limit = ulps}), ulps > 15360) << ulps;
  }
}

// For float32 elements, their bits show directly if zeros would be too far from the first elements.
TEST(Statistics, FirstElementsThatZerosAreTooFarFrom) {
  const auto trivial = [&](const Tensor& actual, const Tensor& expected, const Limit& limit) {
    return judge_statistics(actual, expected, {}, false, std::span(&limit, 1)).trivial_met;
  };
  for (const char* dtype : {"float32", "float64"}) {
    const Format& f = format_named(dtype);
    const Tensor e = vector_of(dtype, std::vector<double>(3000, 1));
    const double one = static_cast<double>(*ulp_distance(f, 0, encode(f, 1)));
    // The parameter is a float64, which does not hold the distances of float64 values exactly.
    const double apart = dtype == std::string("float32") ? 1 : 0x1p20;
    for (const double off : {-1.0, 0.0, 1.0}) {
      EXPECT_EQ(
          trivial(
              e, e,
              {.statistic = Statistic::kShareUlps, .limit = 0.01, .parameter = one + off * apart}),
          off >= 0)
          << dtype << off;
      for (const LimitSense sense : {LimitSense::kAtMost, LimitSense::kBelow}) {
        EXPECT_EQ(trivial(e, e,
                          {.statistic = Statistic::kQuantileAbs,
                           .limit = 1 + off * 0x1p-30,
                           .parameter = 0.9,
                           .sense = sense}),
                  sense == LimitSense::kAtMost ? off >= 0 : off > 0)
            << dtype << off;
      }
    }
    // A third of the elements would be too far from zero, but most of these are infinite or NaN in
    // the output and do not count.
    std::vector<double> values(3000, 0x1p-10), of(3000, 0x1p-10);
    for (std::size_t i = 0; i < values.size(); i += 3) {
      values[i] = i % 10 == 0 ? 1 : i % 2 == 0 ? kInfinity : kNan;
      of[i] = 1;
    }
    const Tensor actual = vector_of(dtype, values), expected = vector_of(dtype, of);
    const double near = static_cast<double>(*ulp_distance(f, 0, encode(f, 0x1p-10)));
    EXPECT_TRUE(trivial(actual, expected,
                        {.statistic = Statistic::kShareUlps, .limit = 0.1, .parameter = near}));
    EXPECT_FALSE(trivial(actual, expected,
                         {.statistic = Statistic::kShareUlps, .limit = 0.01, .parameter = near}));
    EXPECT_TRUE(trivial(actual, expected,
                        {.statistic = Statistic::kQuantileAbs, .limit = 0.25, .parameter = 0.8}));
  }
}

// The relative errors of zeros are 0 if 0 is expected, and 1 elsewhere. A quantile may lie between
// them.
TEST(Statistics, QuantilesOfRelativeErrorsOfZeros) {
  const Tensor e = vector_of("float32", {0, 0, 4});
  const auto trivial = [&](double quantile, double most) {
    const Limit limit{.statistic = Statistic::kQuantileRelative,
                      .limit = most,
                      .parameter = quantile,
                      .sense = LimitSense::kAtMost};
    return judge_statistics(e, e, {}, false, std::span(&limit, 1)).trivial_met;
  };
  EXPECT_TRUE(trivial(0.5, 0));
  EXPECT_TRUE(trivial(0.75, 0.5));
  EXPECT_FALSE(trivial(0.75, 0.49));
  EXPECT_TRUE(trivial(1, 1));
  EXPECT_FALSE(trivial(1, 0.99));
}

// The expected errors must have the shape of the output. Missing ones and those of another shape
// are refused.
TEST(Statistics, ExpectedErrorsOfTheSameShape) {
  const Tensor e = vector_of("float64", {1, 2, 3}), weights = vector_of("float64", {1, 1, 1}),
               others = vector_of("float64", {1, 1});
  const Limit limit{.statistic = Statistic::kErrorSquares, .limit = 1, .parameter = 3};
  const auto why_not = [&](const std::optional<TensorView>& w) {
    return judge_statistics(e, e, {}, false, std::span(&limit, 1), {.error_weights = w}).why_not;
  };
  EXPECT_EQ(why_not(weights.view()), "");
  EXPECT_THAT(why_not(others.view()),
              testing::HasSubstr("needs the expected error of each element"));
  EXPECT_THAT(why_not(std::nullopt),
              testing::HasSubstr("needs the expected error of each element"));
}

// The text names the first element of a reference implementation that is not finite although it
// must be, in whatever part it lies.
TEST(Statistics, TheFirstBrokenElementOfABenchmark) {
  const std::int64_t part = MetricsPass::kPart;
  std::vector<double> e(static_cast<std::size_t>(2 * part + 5000), 1);
  e[2] = kInfinity;
  const Limit limit{.statistic = Statistic::kMareRatio, .limit = 2};
  for (const std::int64_t first : {std::int64_t{0}, std::int64_t{7}, part - 1, part, part + 3000}) {
    std::vector<double> b(e.size(), 1);
    b[2] = kNan;  // no finite value is expected there
    for (const std::int64_t at : {first, first + 1, first + 4000, 2 * part + 4500}) {
      b[static_cast<std::size_t>(at)] = kNan;
    }
    const Tensor te = vector_of("float32", e), tb = vector_of("float32", b);
    const TensorView view = tb.view();
    for (const int threads : {1, 2}) {
      EXPECT_EQ(judge_statistics(te, te, view, false, std::span(&limit, 1),
                                 {.trivial = false, .blindness = false, .threads = threads})
                    .why_not,
                "the reference implementation's output is nan at position " +
                    std::to_string(first) + ", where a finite value is expected");
    }
  }
}

// The cosine of zeros is 0, or 1 if zeros are expected. If a limit allows a cosine of 0, zeros meet
// it, too.
TEST(StatisticsOfFewElements, ZerosThatACosineForgives) {
  const Tensor some = vector_of("float64", {1, -2}), none = vector_of("float64", {0, 0});
  for (const double least : {-0.5, 0.5}) {
    const Limit limit{.statistic = Statistic::kCosine, .limit = least};
    const auto trivial = [&](const Tensor& e) {
      return judge_statistics(e, e, {}, false, std::span(&limit, 1)).trivial_met;
    };
    EXPECT_EQ(trivial(some), least < 0) << least;
    EXPECT_TRUE(trivial(none)) << least;
  }
}

// The statistic is sum w d^2 over the elements that are finite on both sides, across the parts of
// the threads.
TEST(Statistics, WeightedSquaresOfFiniteErrors) {
  Bound bound = oracle::tolerance(100, 0);
  bound.limits = {{.statistic = Statistic::kErrorSquares, .limit = 1e9, .parameter = 3}};
  const auto read = [&](const std::vector<double>& a, const std::vector<double>& e,
                        const std::vector<double>& w) {
    const Tensor weights = vector_of("float64", w);
    JudgeOptions options;
    options.error_weights = weights.view();
    options.threads = 2;
    return judge(vector_of("float32", a), vector_of("float64", e), bound, options);
  };
  const Verdict v = read({1.5, 2, kInfinity, 7}, {1, 4, kInfinity, 6}, {2, 3, 5, 0.25});
  EXPECT_EQ(v.readings.at(0).value, 2 * 0.25 + 3 * 4 + 0.25);
  EXPECT_TRUE(v.notes.empty());
  EXPECT_EQ(read({1.5}, {1}, {4}).notes.size(), 1u) << "less than chance leaves";
  const std::size_t n = (std::size_t{1} << 18) + 3;
  std::vector<double> a(n, 1), w(n, 0.5);
  a[1] = 3, a[n - 1] = 5;
  EXPECT_EQ(read(a, std::vector<double>(n, 1), w).readings.at(0).value, 0.5 * 4 + 0.5 * 16);
}

// The ulps of finite elements leave out infinities in every part.
TEST(Statistics, UlpsOfFiniteElementsInEveryPart) {
  const std::size_t n = (std::size_t{1} << 18) + 8;
  std::vector<double> a(n, 1), e(n, 1);
  a[3] = a[n - 2] = 1 + 0x1p-23;
  a[5] = a[n - 1] = kInfinity;
  Bound bound = oracle::tolerance(0, 0);
  bound.rule = Rule::kStatistics;
  bound.limits = {{.statistic = Statistic::kShareUlps, .limit = 1, .parameter = 0},
                  {.statistic = Statistic::kMeanUlps, .limit = 1}};
  JudgeOptions options;
  options.threads = 2;
  options.patterns = options.blindness = false;
  const Verdict v = judge(vector_of("float32", a), vector_of("float32", e), bound, options);
  EXPECT_EQ(v.mismatches, 2);
  EXPECT_EQ(v.readings.at(0).value, 2 / static_cast<double>(n - 2));
  EXPECT_EQ(v.readings.at(1).value, 2 / static_cast<double>(n - 2));
}

}  // namespace
}  // namespace assay
