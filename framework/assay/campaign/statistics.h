// Rates and what is known of them.
#pragma once

#include <cstdint>
#include <vector>

namespace assay {

struct Rate {
  std::int64_t events = 0, trials = 0;
};
struct Interval {
  double low = 0, high = 1;
};

// Two-sided (Wilson, JASA 22, 1927).
Interval wilson(Rate rate, double confidence);
// One-sided (Clopper and Pearson, Biometrika 26, 1934).
double lower_bound(Rate rate, double confidence);
double upper_bound(Rate rate, double confidence);
// Percentile interval of sum events / sum trials over clusters drawn with replacement.
Interval bootstrap(const std::vector<Rate>& clusters, double confidence, std::uint64_t seed,
                   std::int64_t replicates);

}  // namespace assay
