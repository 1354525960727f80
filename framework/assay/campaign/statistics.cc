#include "assay/campaign/statistics.h"

#include <algorithm>
#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>

#include "assay/base/random.h"

namespace assay {

Interval wilson(Rate r, double confidence) {
  const double n = static_cast<double>(r.trials), p = static_cast<double>(r.events) / n;
  const double z =
      boost::math::quantile(boost::math::normal_distribution<double>(), (1 + confidence) / 2);
  const double center = (p + z * z / (2 * n)) / (1 + z * z / n);
  const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return {std::max(0.0, center - half), std::min(1.0, center + half)};
}
double lower_bound(Rate r, double confidence) {
  if (r.events == 0) return 0;
  const double k = static_cast<double>(r.events), n = static_cast<double>(r.trials);
  return boost::math::quantile(boost::math::beta_distribution<double>(k, n - k + 1),
                               1 - confidence);
}
double upper_bound(Rate r, double confidence) {
  if (r.events == r.trials) return 1;
  const double k = static_cast<double>(r.events), n = static_cast<double>(r.trials);
  return boost::math::quantile(boost::math::beta_distribution<double>(k + 1, n - k), confidence);
}
Interval bootstrap(const std::vector<Rate>& clusters, double confidence, std::uint64_t seed,
                   std::int64_t replicates) {
  std::vector<double> rates;
  for (std::int64_t r = 0; r < replicates; ++r) {
    Random random(seed, static_cast<std::uint64_t>(r));
    Rate sum;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      const Rate& c = clusters[random.below(clusters.size())];
      sum.events += c.events;
      sum.trials += c.trials;
    }
    rates.push_back(static_cast<double>(sum.events) / static_cast<double>(sum.trials));
  }
  std::sort(rates.begin(), rates.end());
  const auto at = [&](double q) {
    return rates[static_cast<std::size_t>(q * static_cast<double>(rates.size() - 1) + 0.5)];
  };
  return {at((1 - confidence) / 2), at((1 + confidence) / 2)};
}

}  // namespace assay
