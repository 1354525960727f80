#include "assay/judge/recheck.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/random.h"
#include "assay/base/text.h"

namespace assay {
namespace {

// The mean of the middle two where there are two. Reorders its argument.
double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  const double below = *std::max_element(values.begin(), middle);
  return below == *middle ? below : below / 2 + *middle / 2;
}

// Nearest rank.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace

std::string Recheck::text() const {
  return formatted("median ratio {} over {} seeds, 95 percent interval {} to {} ({} draws): {}",
                   short_number(median, 4), seeds, short_number(low, 4), short_number(high, 4),
                   draws,
                   fails ? "worse than the benchmark" : "not shown to be worse than the benchmark");
}

Recheck recheck_ratios(std::span<const double> ratios, std::uint64_t seed, int draws) {
  const FloatEnvironment environment;
  if (ratios.size() < static_cast<std::size_t>(kRecheckLeastSeeds)) {
    throw std::invalid_argument(formatted("a re-check needs at least {} seeds, and there are {}",
                                          kRecheckLeastSeeds, ratios.size()));
  }
  if (draws < 1) throw std::invalid_argument("a re-check needs at least one draw");
  for (const double ratio : ratios) {
    if (!(ratio >= 0)) {
      throw std::invalid_argument(
          formatted("a re-check takes ratios of at least 0, not {}", number_text(ratio)));
    }
  }
  Recheck result;
  result.seeds = static_cast<std::int64_t>(ratios.size());
  result.draws = draws;
  std::vector<double> sample(ratios.begin(), ratios.end());
  result.median = median_of(sample);
  std::vector<double> medians(static_cast<std::size_t>(draws));
  for (std::size_t d = 0; d < medians.size(); ++d) {
    Random random(seed, d);
    for (double& value : sample) value = ratios[random.below(ratios.size())];
    medians[d] = median_of(sample);
  }
  std::sort(medians.begin(), medians.end());
  result.low = percentile(medians, 0.025);
  result.high = percentile(medians, 0.975);
  result.fails = result.low > 1;
  return result;
}

}  // namespace assay
