// Rates and their confidence intervals.
//
//   upper_bound({0, 100000}, 0.95) == 2.9957e-05;  // 1 - 0.05^(1/n): "no alarm" is not a rate of 0
//   clustered_rate({{3, 128}, {0, 128}, {1, 128}, {5, 128}}, 0.95).interval;  // by whole matrices
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace assay::inline v0_2::campaign {

// A rate: `events` of `trials` trials. All functions below throw Refusal if there are no trials, if
// 0 <= events <= trials does not hold, or if a confidence is not above 0 and below 1.
struct Rate {
  std::int64_t events = 0, trials = 0;
};
// Returns events / trials.
double share_of(Rate rate);
// A confidence interval of a rate.
struct Interval {
  double low = 0, high = 1;
};

// Returns the two-sided interval of independent trials: Wilson's score interval without correction
// (JASA 22, 1927). Its coverage is near `confidence` on average. For decisions that need a
// guaranteed coverage, use the bounds below.
Interval wilson(Rate rate, double confidence);

// One-sided bounds that hold with at least `confidence` for every true rate (Clopper and Pearson,
// Biometrika 26, 1934). Without events the upper bound is 1 - (1 - confidence)^(1/n). If all trials
// are events, the lower bound is (1 - confidence)^(1/n).
double lower_bound(Rate rate, double confidence);
double upper_bound(Rate rate, double confidence);

// A rate whose trials come in clusters (the matrices of a campaign). Trials of one cluster may fail
// together, so clusters are counted. Clusters without trials are left out.
struct ClusteredRate {
  Rate rate;                  // sum of the events and sum of the trials of all clusters
  std::int64_t clusters = 0;  // number of clusters that have trials
  // Standard error of the rate: delete-one jackknife of the ratio of sums (Cochran, Sampling
  // Techniques, 1977, section 6.17). Empty below kLeastClusters.
  std::optional<double> deviation;
  // The two-sided interval. Empty below kLeastClusters.
  //
  // If there are no events, or only events, the interval is that of `clusters` clusters that each
  // fail as a whole or not at all, with probability (1 - confidence) / 2 on its side.
  //
  // In all other cases it is a t interval of the log odds. Its deviation is that of the
  // rate, divided by rate (1 - rate). It has 1 / (1 / (m - 1) + k / m) degrees of freedom, limited
  // to 1 to m - 1, for m clusters whose jackknife differences have excess kurtosis k. Satterthwaite
  // (Biometrics Bulletin 2, 1946) has k / (2 m). We use twice that, because a sample from a skewed
  // distribution that looks narrow also lies too near 0. The interval is limited to Clopper and
  // Pearson's interval of m clusters of which m * rate failed as a whole, because no distribution
  // on [0, 1] with that mean spreads more. If all clusters have the same rate, it is Wilson's
  // interval of the trials.
  std::optional<Interval> interval;
};
// The smallest number of clusters for which clustered_rate() gives a deviation and an interval.
inline constexpr std::int64_t kLeastClusters = 4;
// Returns the rate of all clusters. Without any trials the result is empty, and nothing is thrown.
ClusteredRate clustered_rate(const std::vector<Rate>& clusters, double confidence);

// Return lower_bound() and upper_bound() for m clusters of which m times the rate failed as a
// whole. The upper bound without events, and the lower bound of only events, hold however the
// trials of a cluster depend on each other.
double lower_bound_by_clusters(const ClusteredRate& rate, double confidence);
double upper_bound_by_clusters(const ClusteredRate& rate, double confidence);

// Returns the confidence to use for each of several checks of the same trials. All checks together
// then hold with `confidence`, whichever of them ends the campaign (Bonferroni).
double split_confidence(double confidence, std::int64_t looks);

}  // namespace assay::campaign

namespace assay::inline v0_2 {
using campaign::Rate;
}  // namespace assay
