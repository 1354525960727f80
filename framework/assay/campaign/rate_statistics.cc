#include "assay/campaign/rate_statistics.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>

#include "assay/base/elementary.h"
#include "assay/base/float_environment.h"
#include "assay/base/int128.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::campaign {
namespace {

void require_confidence(double confidence) {
  if (confidence > 0 && confidence < 1) return;
  refuse("a confidence is above 0 and below 1, not {}", number_text(confidence));
}

void require_rate(Rate rate) {
  if (rate.events >= 0 && rate.events <= rate.trials) return;
  refuse("a rate has 0 to {} events of {} trials, not {}", rate.trials, rate.trials, rate.events);
}

void require(Rate rate, double confidence) {
  require_confidence(confidence);
  if (rate.trials < 1) {
    refuse("a rate needs trials, not {}", rate.trials);
  }
  require_rate(rate);
}

// Returns the t for which a standard normal lies between -t and t with probability `confidence`.
double two_sided_quantile(double confidence) {
  return -portable::normal_quantile((1 - confidence) / 2);
}

// Returns the largest p in 0..1 with tail(p) <= limit. tail() must not decrease with p. Bisects
// over all float64 numbers in that range. Boost 1.74's own inverse of the incomplete beta function
// does not converge for some rates of few trials.
template <typename Tail>
double largest_with(const Tail& tail, double limit) {
  std::uint64_t within = 0, beyond = std::bit_cast<std::uint64_t>(1.0);
  while (beyond - within > 1) {
    const std::uint64_t middle = within + (beyond - within) / 2;
    (tail(std::bit_cast<double>(middle)) <= limit ? within : beyond) = middle;
  }
  return std::bit_cast<double>(within);
}

// Boost computes in long double, which is another format on other processors. With 80 bits the
// relative error is about 4e-21 per trial, as measured against 128 bits for up to 1e9 trials. That
// is a thousandth of the error due to rounding to the number of bits returned here.
int portable_bits(double trials) { return std::clamp(54 - std::ilogb(trials), 20, 48); }

// The bounds of Clopper and Pearson, each with probability `tail` beyond it. For the bounds of m
// clusters, the number of events x is m times the rate, which is usually not a whole number.
double lower_end(double x, double n, double tail) {
  if (x == 0) return 0;
  if (x == n) return portable::exp(portable::log(tail) / n);
  // P(at least x events) is the incomplete beta function I_p(x, n - x + 1).
  return portable::shortened(
      largest_with([&](double p) { return boost::math::ibeta(x, n - x + 1, p); }, tail),
      portable_bits(n));
}
double upper_end(double x, double n, double tail) {
  if (x == n) return 1;
  if (x == 0) return -portable::expm1(portable::log(tail) / n);
  // P(at most x events) is 1 - I_p(x + 1, n - x), and falls with p.
  return portable::shortened(
      largest_with([&](double p) { return -boost::math::ibetac(x + 1, n - x, p); }, -tail),
      portable_bits(n));
}

// The uncertainty of a rate that comes from differences between clusters. It is computed from the
// jackknife difference of each cluster.
struct Spread {
  double deviation = 0;  // the standard error of the rate
  double freedom = 1;    // the degrees of freedom of this standard error
};
Spread spread_of(const std::vector<Rate>& clusters, Rate sum) {
  const auto m = static_cast<double>(clusters.size()), all = static_cast<double>(sum.trials);
  double square = 0, fourth = 0;
  for (const Rate& c : clusters) {
    // `above` is (events - rate times trials) of the cluster, times the number of all trials. It is
    // a whole number, so that clusters with equal rates differ by exactly 0.
    const Int128 above =
        static_cast<Int128>(c.events) * sum.trials - static_cast<Int128>(sum.events) * c.trials;
    const double d = static_cast<double>(above) / all / static_cast<double>(sum.trials - c.trials);
    square += d * d;
    fourth += d * d * d * d;
  }
  if (square == 0) return {};
  // The kurtosis of a sample, corrected for its size (Joanes and Gill, The Statistician 47, 1998).
  const double plain = m * fourth / (square * square) - 3;
  const double excess = (m - 1) / ((m - 2) * (m - 3)) * ((m + 1) * plain + 6);
  const double inverse = 1 / (m - 1) + excess / m;
  return {std::sqrt((m - 1) / m * square), 1 / std::clamp(inverse, 1 / (m - 1), 1.0)};
}

// A function of its own, because clang 19 computes before the environment is set, and after it is
// restored, what it may inline.
[[gnu::noinline]] Interval wilson_interval(Rate rate, double confidence) {
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  const auto rest = static_cast<double>(rate.trials - rate.events);
  const double t = two_sided_quantile(confidence), t2 = t * t;
  // The roots p of (n + t^2) p^2 - (2 x + t^2) p + x^2 / n are the ends of Wilson's interval for x
  // events in n trials. The lower root is computed from the product of both, because the difference
  // cancels if x is small.
  const double high = (x + t2 / 2 + t * std::sqrt(x / n * rest + t2 / 4)) / (n + t2);
  const double low = x / n * x / (n + t2) / high;
  return {std::min(low, x / n), rest == 0 ? 1.0 : std::max(high, x / n)};
}

}  // namespace

double share_of(Rate rate) {
  return static_cast<double>(rate.events) / static_cast<double>(rate.trials);
}

Interval wilson(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  return wilson_interval(rate, confidence);
}

double lower_bound(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  return lower_end(x, n, 1 - confidence);
}

double upper_bound(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  return upper_end(x, n, 1 - confidence);
}

ClusteredRate clustered_rate(const std::vector<Rate>& clusters, double confidence) {
  const FloatEnvironment environment;
  require_confidence(confidence);
  std::vector<Rate> known;
  ClusteredRate out;
  for (const Rate& cluster : clusters) {
    require_rate(cluster);
    if (cluster.trials == 0) continue;
    known.push_back(cluster);
    out.rate.events += cluster.events;
    out.rate.trials += cluster.trials;
  }
  out.clusters = static_cast<std::int64_t>(known.size());
  if (out.clusters < kLeastClusters) return out;
  const auto m = static_cast<double>(out.clusters);
  const double tail = (1 - confidence) / 2;
  const double rate = share_of(out.rate);
  if (out.rate.events == 0 || out.rate.events == out.rate.trials) {
    out.deviation = 0;
    out.interval = {lower_end(m * rate, m, tail), upper_end(m * rate, m, tail)};
    return out;
  }
  const Spread spread = spread_of(known, out.rate);
  out.deviation = spread.deviation;
  Interval interval = wilson(out.rate, confidence);
  if (spread.deviation > 0) {
    const boost::math::students_t_distribution<double> t(spread.freedom);
    const double deviations =
        portable::shortened(boost::math::quantile(boost::math::complement(t, tail)), 40);
    const double reach = deviations * spread.deviation / (rate * (1 - rate));
    const double odds = portable::log(rate / (1 - rate));
    interval = {1 / (1 + portable::exp(reach - odds)), 1 / (1 + portable::exp(-reach - odds))};
  }
  // The interval may not reach beyond that of clusters that fail as a whole. Such ends are
  // replaced. Comparing the probabilities of the tails is a cheap test for it.
  const double x = m * rate;
  if (boost::math::ibeta(x, m - x + 1, interval.low) < tail) interval.low = lower_end(x, m, tail);
  if (boost::math::ibetac(x + 1, m - x, interval.high) < tail) {
    interval.high = upper_end(x, m, tail);
  }
  out.interval = {std::min(rate, interval.low), std::max(rate, interval.high)};
  return out;
}

// Returns the number of m clusters that would have failed as a whole to give this rate: m times the
// rate.
static double clusters_failed(const ClusteredRate& rate, double confidence) {
  require(rate.rate, confidence);
  if (rate.clusters < 1) {
    refuse("a bound by clusters needs at least 1 cluster, not {}", rate.clusters);
  }
  return static_cast<double>(rate.clusters) * static_cast<double>(rate.rate.events) /
         static_cast<double>(rate.rate.trials);
}

double lower_bound_by_clusters(const ClusteredRate& rate, double confidence) {
  const FloatEnvironment environment;
  return lower_end(clusters_failed(rate, confidence), static_cast<double>(rate.clusters),
                   1 - confidence);
}

double upper_bound_by_clusters(const ClusteredRate& rate, double confidence) {
  const FloatEnvironment environment;
  return upper_end(clusters_failed(rate, confidence), static_cast<double>(rate.clusters),
                   1 - confidence);
}

double split_confidence(double confidence, std::int64_t looks) {
  require_confidence(confidence);
  if (looks < 1) refuse("looks are at least 1, not {}", looks);
  return 1 - (1 - confidence) / static_cast<double>(looks);
}

}  // namespace assay::campaign
