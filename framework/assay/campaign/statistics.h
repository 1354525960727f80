// Rates, and how far they can be trusted.
//
//   upper_bound({0, 100000}, 0.95) == 2.9957e-05;  // 1 - 0.05^(1/n): "no alarm" is not a rate of 0
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

// The two-sided interval to show: Wilson's score interval without correction (JASA 22, 1927). Its
// coverage is near `confidence` on average; one that must hold is a gate's and is below.
Interval wilson(Rate rate, double confidence);

// One-sided bounds that hold with at least `confidence` for every true rate (Clopper and Pearson,
// Biometrika 26, 1934). Without an event the upper one is 1 - (1 - confidence)^(1/n), with nothing
// but events the lower one is (1 - confidence)^(1/n).
double lower_bound(Rate rate, double confidence);
double upper_bound(Rate rate, double confidence);

// Percentile interval of sum events / sum trials (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993, chapter 13). Trials of one matrix are not independent, so that whole clusters
// are drawn with replacement; those without trials weigh nothing. Of `replicates` + 1 a share of
// (1 - confidence) / 2 lies outside on each side; too few for one throw std::invalid_argument.
// Replicate r is addressed by (seed, r). Where all clusters agree, as where nothing happened, the
// interval is a point: that is what a bootstrap knows, and wilson() the one to show.
Interval bootstrap(const std::vector<Rate>& clusters, double confidence, std::uint64_t seed,
                   std::int64_t replicates);

// Trials for which a rate of about p is known to +- half_width:
// n = N t^2 p (1 - p) / (e^2 (N - 1) + t^2 p (1 - p)), rounded up, at least 1, with t the two-sided
// normal quantile and N the population (Leveugle et al., DATE 2009); without one
// n = t^2 p (1 - p) / e^2. p = 0.5 serves where nothing is known. Throws std::invalid_argument for
// p outside 0..1, a half width that is not above 0 and below 1, a population below 1, and a number
// of trials beyond 2^62.
std::int64_t sample_size(double p, double half_width, double confidence,
                         std::optional<std::int64_t> population = std::nullopt);

// The confidence of each of several looks at the same trials so that all of them hold with
// `confidence` together, whichever look ends the campaign (Bonferroni).
double split_confidence(double confidence, std::int64_t looks);

}  // namespace assay::campaign

namespace assay {
using campaign::Rate;

// Their names before 0.2.0; they go with 0.3.0.
using campaign::bootstrap;
using campaign::lower_bound;
using campaign::sample_size;
using campaign::split_confidence;
using campaign::upper_bound;
using campaign::wilson;
using Interval [[deprecated("assay::campaign::Interval")]] = campaign::Interval;
}  // namespace assay
