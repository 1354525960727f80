// Rates, and how far they can be trusted.
//
//   upper_bound({0, 100000}, 0.95) == 2.9957e-05;  // 1 - 0.05^(1/n): "no alarm" is not a rate of 0
//   clustered_rate({{3, 128}, {0, 128}, {1, 128}, {5, 128}}, 0.95).interval;  // by whole matrices
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace assay::campaign {

// `events` of `trials`. Everything below throws std::invalid_argument where there are no trials,
// where 0 <= events <= trials does not hold, or where a confidence is not above 0 and below 1.
struct Rate {
  std::int64_t events = 0, trials = 0;
};
struct Interval {
  double low = 0, high = 1;
};

// The two-sided interval of independent trials: Wilson's score interval without correction (JASA
// 22, 1927). Its coverage is near `confidence` on average; one that must hold is a gate's and is
// below.
Interval wilson(Rate rate, double confidence);

// One-sided bounds that hold with at least `confidence` for every true rate (Clopper and Pearson,
// Biometrika 26, 1934). Without an event the upper one is 1 - (1 - confidence)^(1/n), with nothing
// but events the lower one is (1 - confidence)^(1/n).
double lower_bound(Rate rate, double confidence);
double upper_bound(Rate rate, double confidence);

// Where trials come in clusters (the matrices of a campaign) and those of one cluster may fail
// together, the clusters are what is counted. Clusters without trials say nothing and are left out.
struct ClusteredRate {
  Rate rate;                  // sums over all clusters
  std::int64_t clusters = 0;  // with trials
  // Standard error of the rate: delete-one jackknife of the ratio of sums (Cochran, Sampling
  // Techniques, 1977, section 6.17). Empty below kLeastClusters.
  std::optional<double> deviation;
  // Two-sided. Of nothing, or nothing but events, it is that of `clusters` that each fail whole or
  // not at all, (1 - confidence) / 2 on its side. Else a t interval of the log odds: the deviation
  // over rate (1 - rate), and 1 / (1 / (m - 1) + k / m) degrees of freedom, from 1 to m - 1, for m
  // clusters whose jackknife differences have excess kurtosis k. (Satterthwaite, Biometrics
  // Bulletin 2, 1946, has k / (2 m); twice that, since a sample from a skewed law that looks narrow
  // also lies too near 0.) It goes no further than Clopper and Pearson's of m clusters of which
  // m rate failed whole, for no law on [0, 1] of that mean spreads more. Clusters that all agree
  // leave Wilson's interval of the trials. Empty below kLeastClusters.
  std::optional<Interval> interval;
};
inline constexpr std::int64_t kLeastClusters = 4;
// Of no trials at all it is empty, and throws nothing.
ClusteredRate clustered_rate(const std::vector<Rate>& clusters, double confidence);

// lower_bound() and upper_bound() by clusters: of m clusters of which m rate failed whole. They
// hold however the trials of a cluster hang together, where nothing (for the lower one: everything)
// was seen.
double lower_bound_by_clusters(const ClusteredRate& rate, double confidence);
double upper_bound_by_clusters(const ClusteredRate& rate, double confidence);

// The confidence of each of several looks at the same trials so that all of them hold with
// `confidence` together, whichever look ends the campaign (Bonferroni).
double split_confidence(double confidence, std::int64_t looks);

}  // namespace assay::campaign

namespace assay {
using campaign::Rate;
}  // namespace assay
