// The statistical re-check of a dual-benchmark failure: is the output worse than the benchmark, or
// was it one unlucky seed?
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace assay {

inline constexpr int kRecheckSeeds = 1000;      // new seeds, where nothing else is asked for
inline constexpr int kRecheckLeastSeeds = 200;  // fewer say too little
inline constexpr int kRecheckDraws = 2000;      // of the bootstrap

struct Recheck {
  std::int64_t seeds = 0;  // ratios that were given
  int draws = 0;
  double median = 0;
  double low = 0, high = 0;  // 95 percent interval of the median
  bool fails = false;        // low > 1: the output is worse, and chance does not explain it
  std::string text() const;
};

// `ratios`: output's error over the benchmark's (MARE, MERE or RMSE), one of each seed. Their
// median is bootstrapped: `draws` samples with replacement, and the 2.5 and 97.5 percentiles of the
// sample medians (Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13). Draws
// are addressed by `seed`. An infinite ratio counts as infinite. Throws std::invalid_argument on
// fewer than kRecheckLeastSeeds ratios, and on one that is NaN or negative.
Recheck recheck_ratios(std::span<const double> ratios, std::uint64_t seed = 0,
                       int draws = kRecheckDraws);

}  // namespace assay
