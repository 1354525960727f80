// Tests rates and their bounds against independent figures and against their own definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/campaign/rate_statistics.h"
#include "emulated.h"
#include "error_of.h"

namespace assay::campaign {
namespace {

// Returns the binomial probabilities P(X = k) for k = 0..n by the recurrence. n must be small.
std::vector<long double> binomial(int n, long double p) {
  std::vector<long double> of(static_cast<std::size_t>(n) + 1, 0);
  of[0] = 1;
  for (std::size_t trial = 1; trial < of.size(); ++trial) {
    for (std::size_t k = trial; k > 0; --k) of[k] = of[k] * (1 - p) + of[k - 1] * p;
    of[0] *= 1 - p;
  }
  return of;
}

// One-sided bounds by bisection of the binomial distribution in Python's decimal with 60 digits.
// The first four are published too: R's binom.test(682, 925) gives 0.7076683 and 0.7654066;
// Newcombe (Statistics in Medicine 17, 1998, table I, method 5) 0.2527 to 0.3676 for 81 of 263,
// 0.0578 to 0.1617 for 15 of 148, 0 to 0.1684 for 0 of 20, 0.0009 to 0.1776 for 1 of 29.
TEST(ClopperPearson, Figures) {
  const struct {
    std::int64_t events, trials;
    double confidence, low, high;
  } rows[] = {
      {682, 925, 0.975, 0.70766826407903904, 0.76540655824152526},
      {81, 263, 0.975, 0.25273674558527115, 0.36762192260135135},
      {15, 148, 0.975, 0.057844010083448562, 0.16165049034947901},
      {0, 20, 0.975, 0, 0.16843347098308534},
      {1, 29, 0.975, 0.00087264688357992204, 0.17764429548872293},
      {0, 100000, 0.95, 0, 2.9956874019427958e-05},
      {3, 100000, 0.95, 8.176962810387594e-06, 7.7534722385647089e-05},
      {98, 100, 0.95, 0.93838079960395926, 0.99643484739674326},
      {99999, 100000, 0.99, 0.99993361835075734, 0.99999989949664647},
      {20, 20, 0.95, 0.86089165933173484, 1},
      {5, 10, 0.5, 0.4516941562236631, 0.54830584377633695},
      {2, 7, 0.999, 0.0069815137363292328, 0.85622614983901746},
      {1, 1, 0.95, 0.050000000000000003, 1},
      {0, 1, 0.95, 0, 0.94999999999999996},
      {17, 1000000000, 0.95, 1.0832140384265479e-08, 2.5499229974493412e-08},
  };
  for (const auto& row : rows) {
    const Rate rate = {row.events, row.trials};
    // This precision is reached on every processor.
    const double near = row.trials == 1000000000 ? 0x1p-25 : 1e-11;
    EXPECT_NEAR(lower_bound(rate, row.confidence), row.low, near * row.low) << row.events;
    EXPECT_NEAR(upper_bound(rate, row.confidence), row.high, near * row.high) << row.events;
  }
}

// The upper bound without an event is 1 - 0.05^(1/n), or -log(0.05) / n for large n. The lower
// bound if every trial was an event is its mirror image.
TEST(ClopperPearson, NoEventAndNothingElse) {
  for (const std::int64_t n : {1, 2, 10, 59, 100000}) {
    const double root = std::pow(0.05, 1 / static_cast<double>(n));
    EXPECT_EQ(lower_bound({0, n}, 0.95), 0);
    EXPECT_EQ(upper_bound({n, n}, 0.95), 1);
    EXPECT_NEAR(upper_bound({0, n}, 0.95), 1 - root, 1e-15);
    EXPECT_NEAR(lower_bound({n, n}, 0.95), root, 1e-15);
  }
  const std::int64_t many = 1000000000000000;
  EXPECT_NEAR(upper_bound({0, many}, 0.95) * 1e15, -std::log(0.05), 1e-12);
  // 59 tests without an undetected fault show 95 % with 95 % confidence, and 58 do not (Wilks,
  // 1941).
  EXPECT_GE(lower_bound({59, 59}, 0.95), 0.95);
  EXPECT_LT(lower_bound({58, 58}, 0.95), 0.95);
}

// Boost 1.74's inverse of the incomplete beta function throws on some of these. By definition, at
// the lower bound the probability of the observed number or more is 1 - confidence.
TEST(ClopperPearson, EveryRateOfFewTrials) {
  for (const double confidence : {0.5, 0.9, 0.95, 0.999}) {
    for (int n = 1; n <= 40; ++n) {
      for (int x = 1; x <= n; ++x) {
        const double low = lower_bound({x, n}, confidence);
        const std::vector<long double> of = binomial(n, low);
        long double at_least = 0;
        for (int k = n; k >= x; --k) at_least += of[static_cast<std::size_t>(k)];
        ASSERT_NEAR(static_cast<double>(at_least), 1 - confidence, 1e-12) << x << " of " << n;
        ASSERT_NEAR(upper_bound({n - x, n}, confidence), 1 - low, 1e-14) << x << " of " << n;
      }
    }
  }
}

// The bits are also the same if long double has 64 or 113 bits, and not 53.
TEST(ClopperPearson, BitsAreTheSameOnEveryProcessor) {
  const struct {
    Rate rate;
    double confidence;
    std::uint64_t low, high, wilson_high;
  } rows[] = {
      {{6657, 9214}, 0.614, 0x3fe71305df487000, 0x3fe72a0ea5ed6000, 0x3fe73f9877655c69},
      {{4901, 15874}, 0.998, 0x3fd3163895852000, 0x3fd47104d849a000, 0x3fd47df1876085b0},
      {{2, 26153}, 0.504, 0x3f10b1ecfeaec000, 0x3f1af748ae51c000, 0x3f2025c391842b3f},
      {{7, 40}, 0.95, 0x3fb5cb3e6b05fb00, 0x3fd36fe9e4d8ee20, 0x3fd472afb8f4d413},
      {{0, 48}, 0.961, 0, 0x3fb0bb092d1e7f56, 0x3fb4df32eff1b08f},
      {{111970357, 132948182}, 0.704, 0x3feaf33fec000000, 0x3feaf38702000000, 0x3feaf3a8c0e17e71},
  };
  for (const auto& row : rows) {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    EXPECT_EQ(bits(lower_bound(row.rate, row.confidence)), row.low) << row.rate.events;
    EXPECT_EQ(bits(upper_bound(row.rate, row.confidence)), row.high) << row.rate.events;
    EXPECT_EQ(bits(wilson(row.rate, row.confidence).high), row.wilson_high) << row.rate.events;
  }
}

// For any true rate, the bound is on its right side with at least the confidence.
TEST(ClopperPearson, CoversEveryTrueRate) {
  double least = 1;
  for (int n = 1; n <= 30; ++n) {
    std::vector<double> low, high;
    for (int x = 0; x <= n; ++x) {
      low.push_back(lower_bound({x, n}, 0.9));
      high.push_back(upper_bound({x, n}, 0.9));
    }
    for (int i = 1; i < 400; ++i) {
      const double p = i / 400.0;
      const std::vector<long double> of = binomial(n, p);
      long double below = 0, above = 0;
      for (std::size_t x = 0; x < of.size(); ++x) {
        below += low[x] <= p ? of[x] : 0;
        above += high[x] >= p ? of[x] : 0;
      }
      ASSERT_GE(below, 0.9L - 1e-12L) << n << " trials, " << p;
      ASSERT_GE(above, 0.9L - 1e-12L) << n << " trials, " << p;
      least = std::min(least, static_cast<double>(below));
    }
  }
  EXPECT_LT(least, 0.91) << "no wider than need be";
}

// The figures were computed in Python, by bisection of (x/n - p)^2 = t^2 p (1 - p) / n, with t by
// statistics.NormalDist. The first four are also published by Newcombe (method 3): 0.2553 to
// 0.3662, 0.0624 to 0.1605, 0 to 0.1611, 0.0061 to 0.1718.
TEST(Wilson, Figures) {
  const struct {
    std::int64_t events, trials;
    double confidence, low, high;
  } rows[] = {
      {81, 263, 0.95, 0.25528851987827422, 0.36620957698280004},
      {15, 148, 0.95, 0.06238639953073629, 0.16048724172330803},
      {0, 20, 0.95, 0, 0.1611251580528193},
      {1, 29, 0.95, 0.0061132142927626636, 0.17175521879320282},
      {29, 29, 0.95, 0.88303020150025935, 1},
      {15, 25, 0.95, 0.40739457358967002, 0.7659669762225203},
      {0, 100000, 0.95, 0, 3.8413112583039611e-05},
      {3, 100000, 0.99, 7.577617147522686e-06, 0.00011876296629561285},
      {500, 1000, 0.9, 0.47402769147842017, 0.52597230852157983},
      {1, 1, 0.95, 0.2065493143772375, 1},
  };
  for (const auto& row : rows) {
    const Interval interval = wilson({row.events, row.trials}, row.confidence);
    EXPECT_NEAR(interval.low, row.low, 1e-13 * row.low) << row.events;
    EXPECT_NEAR(interval.high, row.high, 1e-13 * row.high) << row.events;
  }
}

// The interval is symmetrical, contains the rate, and lies within 0 to 1. On average over true
// rates, its coverage is near its confidence.
TEST(Wilson, EveryRateOfFewTrials) {
  for (int n = 1; n <= 60; ++n) {
    std::vector<Interval> of_x;
    for (int x = 0; x <= n; ++x) {
      const Interval i = wilson({x, n}, 0.95), mirrored = wilson({n - x, n}, 0.95);
      ASSERT_NEAR(i.low, 1 - mirrored.high, 1e-15);
      ASSERT_TRUE(0 <= i.low && i.low <= static_cast<double>(x) / n);
      ASSERT_TRUE(static_cast<double>(x) / n <= i.high && i.high <= 1);
      of_x.push_back(i);
    }
    if (n < 20) continue;
    long double covered = 0;
    for (int i = 1; i < 200; ++i) {
      const std::vector<long double> of = binomial(n, i / 200.0L);
      for (std::size_t x = 0; x < of.size(); ++x) {
        covered += of_x[x].low <= i / 200.0 && i / 200.0 <= of_x[x].high ? of[x] : 0;
      }
    }
    EXPECT_NEAR(static_cast<double>(covered / 199), 0.95, 0.01) << n;
  }
}

TEST(Rates, WrongUse) {
  for (const double confidence : {0.0, 1.0, -0.5, 1.5, kNan}) {
    EXPECT_THROW(wilson({1, 2}, confidence), std::invalid_argument);
    EXPECT_THROW(lower_bound({1, 2}, confidence), std::invalid_argument);
    EXPECT_THROW(upper_bound({0, 2}, confidence), std::invalid_argument);
    EXPECT_THROW(split_confidence(confidence, 2), std::invalid_argument);
  }
  EXPECT_EQ(error_of([] { wilson({0, 0}, 0.95); }), "a rate needs trials, not 0");
  EXPECT_EQ(error_of([] { upper_bound({0, -3}, 0.95); }), "a rate needs trials, not -3");
  EXPECT_EQ(error_of([] {
              lower_bound({3, 2}, 0.95);
            }),
            "a rate has 0 to 2 events of 2 trials, not 3");
  EXPECT_EQ(error_of([] {
              lower_bound({-1, 2}, 0.95);
            }),
            "a rate has 0 to 2 events of 2 trials, not -1");
  EXPECT_EQ(error_of([] { wilson({1, 2}, 95); }), "a confidence is above 0 and below 1, not 95");
}

// Three matrices with trials do not show how much matrices differ, so that there is no interval.
// Four do.
TEST(Clusters, RefuseAnIntervalOfTooFew) {
  const ClusteredRate three = clustered_rate({{1, 10}, {2, 10}, {0, 0}, {3, 10}}, 0.95);
  EXPECT_EQ(three.clusters, 3);
  EXPECT_EQ(three.rate.events, 6);
  EXPECT_EQ(three.rate.trials, 30);
  EXPECT_FALSE(three.interval);
  EXPECT_FALSE(three.deviation);
  EXPECT_TRUE(clustered_rate({{1, 10}, {2, 10}, {0, 10}, {3, 10}}, 0.95).interval);
  EXPECT_EQ(clustered_rate({}, 0.95).clusters, 0);
}

// The figures were computed by the formulas in Python: quantiles of t by bisection of its integral,
// and the incomplete beta function by numeric integration.
TEST(Clusters, Figures) {
  const struct {
    std::vector<Rate> clusters;
    double deviation, low, high;
  } rows[] = {
      {{{1, 10}, {9, 30}, {4, 10}, {7, 12}, {2, 40}}, 0.115255621921, 0.00822374857, 0.736494323},
      {{{5, 64}, {3, 64}, {8, 64}, {4, 64}, {6, 64}, {5, 64}, {2, 64}, {7, 64}},
       0.011048543456,
       0.0556798151,
       0.108577774},
      {{{3, 64}, {7, 64}, {3, 64}, {7, 64}, {3, 64}, {7, 64}},
       0.0139754248594,
       0.0489434185,
       0.122465124},
      {{{128, 128}, {0, 128}, {0, 128}, {0, 128}, {0, 128}, {0, 128}, {0, 128}, {0, 128}},
       0.125,
       0.00315972351,
       0.526509676},
      {{{30, 128}, {0, 128}, {0, 128}, {1, 128}, {0, 128}},
       0.0465089877067,
       1.37563601e-07,
       0.576511402},
      {{{1, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000},
        {0, 1000000}},
       1e-07,
       0,
       0.0319259463},
  };
  for (const auto& row : rows) {
    const ClusteredRate r = clustered_rate(row.clusters, 0.95);
    EXPECT_NEAR(*r.deviation, row.deviation, 1e-9);
    EXPECT_NEAR(r.interval->low, row.low, 2e-6);
    EXPECT_NEAR(r.interval->high, row.high, 2e-6);
  }
}

// If no event was seen, only the number of matrices counts, however many trials they hold. The same
// holds if every trial was an event.
TEST(Clusters, OfNothingSeen) {
  const std::vector<Rate> none(8, {0, 100000}), all(8, {100000, 100000});
  const ClusteredRate nothing = clustered_rate(none, 0.95), everything = clustered_rate(all, 0.95);
  EXPECT_NEAR(upper_bound_by_clusters(nothing, 0.95), 1 - std::pow(0.05, 1 / 8.0), 1e-15);
  EXPECT_NEAR(lower_bound_by_clusters(everything, 0.95), std::pow(0.05, 1 / 8.0), 1e-15);
  EXPECT_EQ(lower_bound_by_clusters(nothing, 0.95), 0);
  EXPECT_EQ(upper_bound_by_clusters(everything, 0.95), 1);
  EXPECT_LT(upper_bound(nothing.rate, 0.95), 4e-6);
  EXPECT_EQ(nothing.interval->low, 0);
  EXPECT_NEAR(nothing.interval->high, 1 - std::pow(0.025, 1 / 8.0), 1e-15);
  EXPECT_NEAR(everything.interval->low, std::pow(0.025, 1 / 8.0), 1e-15);
  EXPECT_EQ(everything.interval->high, 1);
  // A campaign of a single matrix has an upper bound, too.
  EXPECT_NEAR(upper_bound_by_clusters(clustered_rate({{0, 128}}, 0.95), 0.95), 0.95, 1e-15);
  EXPECT_EQ(error_of([] { upper_bound_by_clusters({}, 0.95); }), "a rate needs trials, not 0");
  EXPECT_THROW(clustered_rate(none, 1), std::invalid_argument);
  EXPECT_THROW(clustered_rate({{3, 2}}, 0.95), std::invalid_argument);
}

TEST(Clusters, MirrorsAndTrialsThatSayNoMore) {
  const std::vector<Rate> clusters = {{1, 10}, {9, 30}, {4, 10}, {0, 5}, {7, 12}, {2, 40}};
  std::vector<Rate> mirrored, doubled;
  for (const Rate& c : clusters) {
    mirrored.push_back({c.trials - c.events, c.trials});
    doubled.push_back({2 * c.events, 2 * c.trials});
  }
  const Interval i = *clustered_rate(clusters, 0.95).interval;
  const Interval other = *clustered_rate(mirrored, 0.95).interval;
  EXPECT_NEAR(i.low, 1 - other.high, 1e-12);
  EXPECT_NEAR(i.high, 1 - other.low, 1e-12);
  // If matrices differ as much as before, more trials in them add no information.
  const Interval same = *clustered_rate(doubled, 0.95).interval;
  EXPECT_NEAR(i.low, same.low, 1e-12);
  EXPECT_NEAR(i.high, same.high, 1e-12);
  // If all matrices agree, the interval is as narrow as that of their trials.
  const Interval agree = *clustered_rate(std::vector<Rate>(8, {1, 3}), 0.95).interval;
  const Interval trials = wilson({8, 24}, 0.95);
  EXPECT_EQ(agree.low, trials.low);
  EXPECT_EQ(agree.high, trials.high);
}

// Draws a binomial number by inversion, or from a normal distribution if n is large enough for this
// to be as good.
std::int64_t binomial_draw(Random& random, std::int64_t n, double p) {
  if (p > 0.5) return n - binomial_draw(random, n, 1 - p);
  const auto all = static_cast<double>(n);
  if (all * p * (1 - p) > 100) {
    const double drawn = all * p + std::sqrt(all * p * (1 - p)) * random.normal();
    return std::clamp<std::int64_t>(std::llround(drawn), 0, n);
  }
  double left = random.uniform(), of = std::pow(1 - p, all);
  std::int64_t k = 0;
  for (; k < n && left >= of; ++k) {
    left -= of;
    of *= static_cast<double>(n - k) / static_cast<double>(k + 1) * p / (1 - p);
  }
  return k;
}

// Marsaglia and Tsang, ACM Transactions on Mathematical Software 26, 2000.
double gamma_draw(Random& random, double shape) {
  if (shape < 1) {
    const double u = random.uniform();
    return gamma_draw(random, shape + 1) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = (1 + c * x) * (1 + c * x) * (1 + c * x);
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) {
      return d * v;
    }
  }
}

// Draws a matrix's own rate, with mean p. rho is the correlation of two trials in one matrix.
double beta_draw(Random& random, double p, double rho) {
  const double s = 1 / rho - 1;
  const double a = gamma_draw(random, p * s), b = gamma_draw(random, (1 - p) * s);
  return a + b > 0 ? a / (a + b) : p;
}

std::int64_t size_draw(Random& random, double spread) {
  return 1 + static_cast<std::int64_t>(200 * std::exp(spread * random.normal()));
}

// The ways in which the matrices of a campaign fail: the number of their trials, and the
// correlation of these trials.
struct CellKind {
  const char* name;
  // True if a matrix has so few outcomes that no interval comes near 95 % at every rate.
  bool lattice;
  Rate (*matrix)(Random& random, double p);
};
const CellKind kCellKinds[] = {
    {"64 drawn faults a matrix", false,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 64, p), 64};
     }},
    {"2 drawn faults a matrix", true,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 2, p), 2};
     }},
    {"a census", false,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 20000, beta_draw(random, p, 0.001)), 20000};
     }},
    {"rows correlated by 0.02", false,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 128, beta_draw(random, p, 0.02)), 128};
     }},
    {"rows correlated by 0.1", false,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 128, beta_draw(random, p, 0.1)), 128};
     }},
    {"rows correlated by 0.3", false,
     [](Random& random, double p) {
       return Rate{binomial_draw(random, 128, beta_draw(random, p, 0.3)), 128};
     }},
    {"4 rows fail together", false,
     [](Random& random, double p) {
       return Rate{4 * binomial_draw(random, 32, p), 128};
     }},
    {"16 rows fail together", true,
     [](Random& random, double p) {
       return Rate{16 * binomial_draw(random, 8, p), 128};
     }},
    {"whole matrices fail", true,
     [](Random& random, double p) {
       return Rate{128 * binomial_draw(random, 1, p), 128};
     }},
    {"matrices of uneven size", false,
     [](Random& random, double p) {
       const std::int64_t n = size_draw(random, 1);
       return Rate{binomial_draw(random, n, p), n};
     }},
    {"uneven ones whose rows are correlated by 0.1", false,
     [](Random& random, double p) {
       const std::int64_t n = size_draw(random, 0.5);
       return Rate{binomial_draw(random, n, beta_draw(random, p, 0.1)), n};
     }},
};

// Tests the promise of every interval that a campaign prints. With 8 matrices or more, it covers
// the rate in at least 93 % of campaigns. If the rate is between 5 and 95 %, it covers it in at
// most 98 % of campaigns. The second limit does not hold for matrices with very few outcomes.
// Wilson's interval of the trials covers far less.
TEST(Clusters, IntervalsCover) {
  constexpr int kRuns = 2000;
  double least_by_trials = 1;
  for (const CellKind& kind : kCellKinds) {
    for (const int matrices : {8, 16, 32}) {
      if (walks_a_share() && matrices != 16) continue;
      for (const double p : {0.01, 0.05, 0.2, 0.5, 0.9, 0.98}) {
        Random random(static_cast<std::uint64_t>(1000 * p), static_cast<std::uint64_t>(matrices));
        int covered = 0, by_trials = 0, bounded = 0;
        for (int run = 0; run < kRuns; ++run) {
          std::vector<Rate> clusters;
          for (int m = 0; m < matrices; ++m) clusters.push_back(kind.matrix(random, p));
          const ClusteredRate r = clustered_rate(clusters, 0.95);
          const Interval i = *r.interval, naive = wilson(r.rate, 0.95);
          covered += i.low <= p && p <= i.high ? 1 : 0;
          by_trials += naive.low <= p && p <= naive.high ? 1 : 0;
          const bool none = r.rate.events == 0, all = r.rate.events == r.rate.trials;
          bounded += (!none || p <= upper_bound_by_clusters(r, 0.95)) &&
                             (!all || p >= lower_bound_by_clusters(r, 0.95))
                         ? 1
                         : 0;
        }
        const double coverage = static_cast<double>(covered) / kRuns;
        least_by_trials = std::min(least_by_trials, static_cast<double>(by_trials) / kRuns);
        const std::string where = std::string(kind.name) + ", " + std::to_string(matrices) +
                                  " matrices, rate " + std::to_string(p);
        EXPECT_GE(coverage, 0.93) << where;
        if (p >= 0.05 && p <= 0.95 && !kind.lattice) {
          EXPECT_LE(coverage, 0.98) << where;
        }
        EXPECT_GE(bounded, kRuns * 95 / 100) << where << ": bounds of nothing or all seen";
      }
    }
  }
  EXPECT_LT(least_by_trials, 0.2) << "trials are not independent here";
}

// A campaign checks its interval after fixed numbers of trials, and ends at the first interval that
// is narrow enough. Returns how often the true rate is outside the interval of any of these checks.
double missed_at_looks(double p, const std::vector<int>& looks, double confidence, int runs) {
  const double one_side = (1 + confidence) / 2;
  // For the rate that was seen at a check, true if its interval covers p.
  std::map<std::pair<std::int64_t, std::int64_t>, bool> covers;
  const auto covered = [&](const Rate& rate) {
    const auto [at, is_new] = covers.try_emplace({rate.events, rate.trials});
    if (is_new) at->second = lower_bound(rate, one_side) <= p && p <= upper_bound(rate, one_side);
    return at->second;
  };
  int missed = 0;
  for (int run = 0; run < runs; ++run) {
    Random random(static_cast<std::uint64_t>(p * 1e6), static_cast<std::uint64_t>(run));
    Rate rate;
    bool outside = false;
    for (const int look : looks) {
      for (; rate.trials < look; ++rate.trials) rate.events += random.uniform() < p ? 1 : 0;
      outside = outside || !covered(rate);
    }
    missed += outside ? 1 : 0;
  }
  return static_cast<double>(missed) / runs;
}

TEST(Looks, HoldTogetherWhereTheConfidenceIsSplit) {
  const std::vector<int> looks = {100, 200, 400, 800, 1600};
  EXPECT_EQ(split_confidence(0.95, 1), 0.95);
  EXPECT_DOUBLE_EQ(split_confidence(0.95, 5), 0.99);
  const double split = split_confidence(0.95, 5);
  constexpr int kRuns = 2000;
  for (const double p : {0.02, 0.5, 0.9}) {
    // Three standard deviations of a share of 5 % in 2000 runs are 1.5 %.
    EXPECT_LE(missed_at_looks(p, looks, split, kRuns), 0.05 + 0.015) << p;
  }
  EXPECT_GT(missed_at_looks(0.5, looks, 0.95, kRuns), 0.05 + 0.015)
      << "without the split, five looks miss more often than one";
  EXPECT_EQ(error_of([] { split_confidence(0.95, 0); }), "looks are at least 1, not 0");
}

}  // namespace
}  // namespace assay::campaign
