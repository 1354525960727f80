// Compares the tail of a sum of rounding errors with independent results. They are the exact
// distribution of a sum of uniform numbers (a polynomial between its knots), the binomial
// distribution of coarse errors, and sampling with exponential tilting if there are too many
// elements for either.
#include "assay/abft/rounding_tail.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "assay/base/quad.h"
#include "assay/base/random.h"
#include "assay/format/convert.h"

namespace assay::abft {
namespace {

const Format& bf16() { return format_named("bfloat16"); }

// Returns values that have a half ulp of 2^-octave, `count` of each.
std::vector<double> values_of(const std::map<int, int>& counts) {
  std::vector<double> values;
  for (const auto& [octave, count] : counts) {
    values.insert(values.end(), static_cast<std::size_t>(count),
                  1.25 * std::ldexp(1.0, bf16().mantissa_bits() + 1 - octave));
  }
  return values;
}

double tail_of(const Format& format, const std::vector<double>& values, double kappa, bool coarse) {
  return rounding_tail(format, values, kappa, coarse).value;
}

double half_ulp(double v) { return ulp_of(bf16(), v) / 2; }

// Returns the probability that the sum of n rounding errors, each uniform between -h and h (half
// its ulp), is above q. With y = sum h - q, it is the sum over all subsets J of
//   (-1)^|J| (y - sum_J 2 h)^n / (n! product 2 h), where y - sum_J 2 h > 0.
double exact_tail(const std::map<int, int>& counts, double q) {
  Quad scale = 1;
  double y = -q;
  int n = 0;
  for (const auto& [octave, count] : counts) {
    for (int i = 0; i < count; ++i) scale *= 2 * std::ldexp(1.0, -octave) * ++n;
    y += count * std::ldexp(1.0, -octave);
  }
  Quad sum = 0;
  const std::function<void(std::map<int, int>::const_iterator, Quad, Quad)> add =
      [&](auto at, Quad left, Quad weight) {
        if (left <= 0) return;
        if (at == counts.end()) {
          Quad power = weight;
          for (int i = 0; i < n; ++i) power *= left;
          sum += power;
          return;
        }
        const auto& [octave, count] = *at;
        for (int k = 0; k <= count; ++k) {
          add(std::next(at), left - k * 2 * std::ldexp(1.0, -octave), weight);
          weight *= -static_cast<Quad>(count - k) / (k + 1);
        }
      };
  add(counts.begin(), y, 1);
  return static_cast<double>(sum / scale);
}

TEST(RoundingTail, IsTheQuantileOfTheExactDistribution) {
  const std::vector<std::map<int, int>> groups = {
      {{0, 16}},         {{0, 4}},          {{0, 8}, {1, 8}},         {{0, 1}, {1, 3}, {2, 6}},
      {{0, 2}, {5, 10}}, {{0, 1}, {1, 15}}, {{0, 4}, {1, 4}, {2, 4}}, {{0, 5}, {3, 4}, {7, 2}}};
  for (const auto& counts : groups) {
    for (const double kappa : {4.0, 5.0, 6.5, 7.62}) {
      const double budget = std::exp(-kappa * kappa / 2);
      const double tail = tail_of(bf16(), values_of(counts), kappa, false);
      const std::string what = testing::PrintToString(counts) + " kappa " + std::to_string(kappa);
      EXPECT_LE(exact_tail(counts, tail), budget * (1 + 1e-6)) << what;
      EXPECT_GE(exact_tail(counts, tail * (kappa < 5 ? 0.99 : 0.998)), budget) << what;
    }
  }
}

// For so few elements, only sums close to the largest possible one are improbable enough. The tail
// is at most that sum.
TEST(RoundingTail, IsAtMostTheLargestSum) {
  for (int n = 1; n <= 6; ++n) {
    const double tail = tail_of(bf16(), values_of({{0, n}}), 7.62, false);
    EXPECT_LE(tail, n);
    EXPECT_GE(tail, n * 0.95) << n;
    EXPECT_LE(exact_tail({{0, n}}, tail), std::exp(-7.62 * 7.62 / 2));
  }
  EXPECT_EQ(tail_of(bf16(), {}, 7, false), 0);
  // Half an ulp of zeros and subnormals is half of the smallest subnormal.
  const std::vector<double> zeros = {0, -0.0, min_subnormal(bf16())};
  EXPECT_LE(tail_of(bf16(), zeros, 7, false), 1.5 * min_subnormal(bf16()));
  EXPECT_GE(tail_of(bf16(), zeros, 7, false), 1.49 * min_subnormal(bf16()));
}

// Returns P(sum > q) by importance sampling. The errors e are drawn from their distribution tilted
// by exp(s e), in which a sum near q is common, and weighted: E[exp(K(s) - s sum); sum > q].
double sampled_tail(const std::vector<double>& values, double q, double kappa) {
  double s = 0, cumulant = 0;
  for (double least = 0, most = 1e3; most - least > 1e-9 * most;) {
    s = (least + most) / 2;
    double mean = cumulant = 0;
    for (const double v : values) {
      const double x = s * half_ulp(v);
      cumulant += x + std::log(-std::expm1(-2 * x) / (2 * x));
      mean += half_ulp(v) * (1 / std::tanh(x) - 1 / x);
    }
    (s * mean - cumulant < kappa * kappa / 2 ? least : most) = s;
  }
  Random random(20261122, 7);
  constexpr int kSamples = 5000;
  double mean = 0;
  for (int i = 0; i < kSamples; ++i) {
    double sum = 0;
    for (const double v : values) {
      // Under the tilted distribution, exp(s e) is uniform between exp(-s h) and exp(s h).
      const double x = s * half_ulp(v);
      sum += half_ulp(v) + std::log1p(random.uniform() * std::expm1(-2 * x)) / s;
    }
    if (sum > q) mean += std::exp(cumulant - s * sum) / kSamples;
  }
  return mean;
}

TEST(RoundingTail, OfWholeRowsAgreesWithSampling) {
  Random random(20261122, 8);
  std::vector<double> normal, wide;
  for (int j = 0; j < 256; ++j) {
    normal.push_back(round_to(bf16(), 32 * random.normal()));
    wide.push_back(round_to(bf16(), std::exp2(6 * random.normal())));
  }
  for (const std::vector<double>& values : {normal, wide, std::vector<double>(256, 1024.0)}) {
    for (const double kappa : {5.0, 7.35}) {
      const double budget = std::exp(-kappa * kappa / 2);
      const double tail = tail_of(bf16(), values, kappa, false);
      EXPECT_LE(sampled_tail(values, tail, kappa), budget * 1.12);
      EXPECT_GE(sampled_tail(values, tail * 0.995, kappa), budget * 0.95);
    }
  }
}

// A coarse error is -h, 0 or h (half an ulp), like the heads of two coins minus 1. So for n errors
// and 2 n coins, P(sum >= m h) = P(heads >= n + m).
TEST(RoundingTail, OfCoarseErrorsBoundsTheBinomialTail) {
  for (const int n : {8, 16, 64}) {
    for (const double kappa : {4.0, 6.5}) {
      const double tail = tail_of(bf16(), values_of({{0, n}}), kappa, true);
      double above = 0;
      for (int heads = 2 * n; heads - n > tail; --heads) {
        above += std::exp(std::lgamma(2 * n + 1) - std::lgamma(heads + 1) -
                          std::lgamma(2 * n - heads + 1) - 2 * n * std::log(2.0));
      }
      EXPECT_LE(above, std::exp(-kappa * kappa / 2)) << n;
      EXPECT_GE(tail, tail_of(bf16(), values_of({{0, n}}), kappa, false));
      EXPECT_LE(tail, std::min<double>(n, kappa * std::sqrt(n / 2.0)));
    }
  }
}

// Chernoff's bound is the minimum of (K(s) + kappa^2 / 2) / s, with K(s) = sum 2 log cosh(s h / 2).
// Here it is found by bisection over log s.
TEST(RoundingTail, OfCoarseErrorsIsTheLeastOfItsBounds) {
  for (const std::map<int, int>& counts :
       {std::map<int, int>{{0, 16}}, {{0, 64}}, {{0, 3}, {1, 20}, {4, 9}}, {{0, 200}, {3, 56}}}) {
    for (const double kappa : {4.0, 6.5}) {
      const auto bound = [&](double log_s) {
        const double s = std::exp(log_s);
        double sum = kappa * kappa / 2;
        for (const auto& [octave, count] : counts) {
          sum += 2 * count * std::log(std::cosh(s * std::ldexp(0.5, -octave)));
        }
        return sum / s;
      };
      double least = -6, most = 4;
      while (most - least > 1e-7) {
        const double low = least + (most - least) / 3, high = most - (most - least) / 3;
        (bound(low) < bound(high) ? most : least) = bound(low) < bound(high) ? high : low;
      }
      const double wanted = bound(least);
      EXPECT_NEAR(tail_of(bf16(), values_of(counts), kappa, true), wanted, 1e-11 * wanted)
          << testing::PrintToString(counts) << " kappa " << kappa;
    }
  }
}

// The slope is the s at which Chernoff's bound is smallest. There s K'(s) - K(s) = kappa^2 / 2,
// which is solved by bisection here. The function under test ends its iteration when the square of
// a change of log s is smaller than a campaign can show, so that its slope is accurate only to
// 1e-7.
TEST(RoundingTail, SlopeIsWhereTheBoundIsLeast) {
  for (const int n : {16, 40}) {
    for (const double kappa : {4.0, 5.0, 6.0, 6.62, 6.64, 6.66}) {
      double least = 1e-3, most = 1e3;
      while (most > least * (1 + 1e-14)) {
        const double s = std::sqrt(least * most);
        const double rest = n * (s * std::tanh(s / 2) - 2 * std::log(std::cosh(s / 2)));
        (rest < kappa * kappa / 2 ? least : most) = s;
      }
      const double slope = rounding_tail(bf16(), values_of({{0, n}}), kappa, true).slope;
      EXPECT_NEAR(slope, least, 1e-7 * least) << n << " kappa " << kappa;
    }
  }
}

// The tail is the mean of the sum of errors that are tilted by exp(slope e). For n equal elements,
// it is n (coth s - 1 / s). This includes s so small that the logarithm of sinh(s) / s is a series.
TEST(RoundingTail, IsTheMeanOfTheErrorsThatItsSlopeTilts) {
  for (const int n : {3600, 8192}) {
    for (const double kappa : {6.0, 8.0}) {
      const RoundingTail tail = rounding_tail(bf16(), values_of({{0, n}}), kappa, false);
      ASSERT_LT(tail.slope, 0.25);
      const double wanted = n * (1 / std::tanh(tail.slope) - 1 / tail.slope);
      EXPECT_NEAR(tail.value, wanted, 1e-6 * wanted) << n << " kappa " << kappa;
    }
  }
}

// Solves the bound's equations by bisection, with cosh and sinh in extended precision. For n equal
// elements and x = s h, s K' - K = kappa^2 / 2 - log(2 pi s^2 K'') / 2.
TEST(RoundingTail, SolvesItsEquationsWhereTheSlopeIsSmall) {
  using Wide = long double;
  constexpr Wide kPi = 3.14159265358979323846L;
  struct Row {
    int n;
    Wide kappa;
  };
  for (const Row& row : {Row{1330, 5}, {3000, 7.5L}, {1900, 6}}) {
    const int n = row.n;
    const Wide kappa = row.kappa, budget = kappa * kappa / 2;
    const auto value = [n](Wide x) { return n * std::log(std::sinh(x) / x); };
    const auto slope = [n](Wide x) { return n * (1 / std::tanh(x) - 1 / x); };
    const auto factor = [n](Wide x) {
      const Wide second = n * (1 / (x * x) - 1 / (std::sinh(x) * std::sinh(x)));
      return -std::log(2 * kPi * x * x * second) / 2;
    };
    Wide least = 0.05L, most = 0.25L;
    for (int i = 0; i < 60; ++i) {
      const Wide x = (least + most) / 2;
      (x * slope(x) - value(x) < budget + factor(x) ? least : most) = x;
    }
    ASSERT_GT(least, 0.2L) << n;
    ASSERT_LT(most, 0.2499L) << n;
    const RoundingTail tail =
        rounding_tail(bf16(), values_of({{0, n}}), static_cast<double>(kappa), false);
    EXPECT_NEAR(tail.value / static_cast<double>(slope(least)), 1, 1e-7) << n;
    EXPECT_NEAR(tail.slope / static_cast<double>(least), 1, 1e-6) << n;
  }
}

// Near the largest sum, sum h, the distribution is a single power: P(sum > sum h - y) is y^n / (n!
// product 2 h) for y below the smallest 2 h. With Stirling's formula for n!, which is too small by
// 1 / (12 n), it is the saddlepoint's result.
TEST(RoundingTail, NextToTheLargestSumIsOnePower) {
  const std::map<int, int> counts = {{0, 16}, {1, 16}, {2, 4}};
  const double largest = 16 + 8 + 1, log_widths = (16 - 4) * std::log(2.0);
  for (const double kappa : {28.0, 30.0, 33.0}) {
    const double y = std::exp((std::lgamma(37) + log_widths - kappa * kappa / 2) / 36);
    ASSERT_LT(y, 0.5);
    const double below = largest - tail_of(bf16(), values_of(counts), kappa, false);
    EXPECT_LE(below, y) << kappa;
    EXPECT_GE(below, y * (1 - 1e-4)) << kappa;
  }
}

// If the budget kappa^2 / 2 is small compared with the logarithm of the divisor, half of the budget
// is used. For a normal sum, s sigma is then kappa / sqrt(2), and q is that many deviations.
TEST(RoundingTail, OfASmallBudgetHalfIsLeft) {
  const double deviation = std::sqrt(4096 / 3.0);
  for (const double kappa : {0.2, 0.3}) {
    const double wanted = kappa * deviation / std::sqrt(2.0);
    EXPECT_NEAR(tail_of(bf16(), values_of({{0, 4096}}), kappa, false), wanted, 1e-5 * wanted);
    EXPECT_NEAR(least_rounding_tail(deviation, 1, kappa, false), wanted, 1e-5 * wanted);
  }
}

// The tail is never above the bounds that it replaces. It grows with kappa and with every element,
// and by no more than the element's own half ulp.
TEST(RoundingTail, IsBoundedAndMonotone) {
  Random random(20261122, 9);
  for (int round = 0; round < 200; ++round) {
    std::vector<double> values;
    const auto count = 1 + random.below(40);
    while (values.size() < count) {
      values.push_back(round_to(bf16(), random.normal() * std::exp2(4 * random.normal())));
    }
    const double kappa = 3 + 6 * random.uniform();
    for (const bool coarse : {false, true}) {
      double sum = 0, square = 0;
      for (const double v : values) {
        sum += half_ulp(v);
        square += half_ulp(v) * half_ulp(v) / (coarse ? 2 : 3);
      }
      const double tail = tail_of(bf16(), values, kappa, coarse);
      const double slack = 1e-6 * tail;
      EXPECT_LE(tail, std::min(sum, kappa * std::sqrt(square)) + slack);
      EXPECT_LE(tail, tail_of(bf16(), values, kappa * 1.1, coarse) + slack);
      std::vector<double> more = values;
      more.push_back(round_to(bf16(), random.normal() * std::exp2(4 * random.normal())));
      const double with_it = tail_of(bf16(), more, kappa, coarse);
      EXPECT_GE(with_it, tail - slack);
      EXPECT_LE(with_it, tail + half_ulp(more.back()) + slack);
    }
  }
}

// The lower bound uses only the deviation and the largest ulp. For many elements it is nearly the
// tail.
TEST(RoundingTail, IsNeverBelowItsLowerBound) {
  Random random(3, 0);
  for (int draw = 0; draw < 3000; ++draw) {
    const auto count = static_cast<std::size_t>(1 + random.below(draw % 10 == 0 ? 2000 : 24));
    const double spread = std::array{0.0, 1.0, 4.0, 30.0}[static_cast<std::size_t>(draw % 4)];
    std::vector<double> values(count);
    double square = 0, largest = 0;
    for (double& v : values) {
      v = std::exp2(spread * random.normal()) * (random.below(2) == 0 ? -1 : 1);
      square += half_ulp(v) * half_ulp(v);
      largest = std::max(largest, half_ulp(v));
    }
    for (const bool coarse : {false, true}) {
      for (const double kappa : {4.0, 5.5, 6.5, 7.62}) {
        const double deviation = std::sqrt(square / (coarse ? 2 : 3));
        const double least = least_rounding_tail(deviation, largest, kappa, coarse);
        const double tail = tail_of(bf16(), values, kappa, coarse);
        ASSERT_LE(least, tail) << count << " of spread " << spread << ", kappa " << kappa;
        ASSERT_GT(least, 0);
        if (spread == 0 && count > 500) {
          ASSERT_GT(least, 0.85 * tail);
        }
      }
    }
  }
}

// Compares the ratio of the lower bound to the tail of a normal distribution with its formula r(x).
// Below x = 0.25, the function uses the first terms of a series, which must not be above r(x).
TEST(RoundingTail, LowerBoundIsByItsFormula) {
  for (const double kappa : {4.0, 7.62}) {
    for (const bool coarse : {false, true}) {
      const double s = least_rounding_tail(1, 1e-9, kappa, coarse);
      for (const double x : {0.01, 0.2, 0.24, 0.26, 0.3, 0.45, 0.49, 0.51, 1.0, 3.0}) {
        const double ratio = least_rounding_tail(1, x / s, kappa, coarse) / s;
        const double exact =
            coarse ? std::tanh(x / 2) / (x / 2) : 3 * (1 / std::tanh(x) - 1 / x) / x;
        EXPECT_LE(ratio, exact * (1 + 1e-12)) << x;
        EXPECT_NEAR(ratio, exact, x < 0.25 ? std::pow(x, 4) / 100 : 1e-9) << x;
      }
    }
  }
}

// Compares a digest of the bits of many tails, which are the same on every host, with the recorded
// one. It finds a change of any last bit. A failure prints the new digest. If the change is
// intended, the new digest replaces the old one.
TEST(RoundingTail, KeepsItsBits) {
  const struct {
    bool coarse;
    double kappa;
    std::uint64_t digest;
  } rows[] = {{false, 1.5, 0xc40493d655eefd01u}, {false, 4, 0x81d7c7d2bcd724aau},
              {false, 6.5, 0xd944d98296436439u}, {false, 20, 0xaef483b077213f19u},
              {true, 1.5, 0xd79f5c2eb9f33bf9u},  {true, 4, 0x93eed92822669c5du},
              {true, 6.5, 0x304065f5dd037e4bu},  {true, 20, 0x2ee54382b7700448u}};
  for (const auto& row : rows) {
    Random random(20261125, 9);
    std::uint64_t digest = 0;
    const auto add = [&](double v) {
      digest = (digest ^ std::bit_cast<std::uint64_t>(v)) * 0x9e3779b97f4a7c15u;
      digest ^= digest >> 29;
    };
    for (int draw = 0; draw < 700; ++draw) {
      const auto count = static_cast<std::size_t>(1 + random.below(draw % 20 == 0 ? 900 : 40));
      std::vector<double> values(count);
      for (double& v : values)
        v = std::ldexp(1.5,
                       static_cast<int>(random.below(static_cast<std::uint64_t>(draw % 7 + 1))));
      const RoundingTail tail = rounding_tail(bf16(), values, row.kappa, row.coarse);
      add(tail.value);
      add(tail.slope);
      add(rounding_tail(bf16(), values, row.kappa, row.coarse, tail.value * 0.9).value);
      add(least_rounding_tail(random.uniform() + 0.1, 0.5, row.kappa, row.coarse));
    }
    EXPECT_EQ(digest, row.digest) << row.coarse << " " << row.kappa;
  }
}

}  // namespace
}  // namespace assay::abft
