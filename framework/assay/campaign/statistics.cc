#include "assay/campaign/statistics.h"

#include <algorithm>
#include <bit>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <cmath>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/random.h"
#include "assay/base/text.h"

namespace assay::campaign {
namespace {

void require_confidence(double confidence) {
  if (confidence > 0 && confidence < 1) return;
  throw std::invalid_argument(
      format("a confidence is above 0 and below 1, not {}", number_text(confidence)));
}

void require_rate(Rate rate) {
  if (rate.events >= 0 && rate.events <= rate.trials) return;
  throw std::invalid_argument(format("a rate has 0 to {} events of {} trials, not {}", rate.trials,
                                     rate.trials, rate.events));
}

void require(Rate rate, double confidence) {
  require_confidence(confidence);
  if (rate.trials < 1) {
    throw std::invalid_argument(format("a rate needs trials, not {}", rate.trials));
  }
  require_rate(rate);
}

// t with `confidence` of a standard normal between -t and t.
double two_sided_quantile(double confidence) {
  const boost::math::normal_distribution<double> normal;
  return boost::math::quantile(boost::math::complement(normal, (1 - confidence) / 2));
}

// The largest p in 0..1 with tail(p) <= limit, by halving the list of all float64 between; the
// tail only grows. Boost 1.74's own inverse of the incomplete beta function fails to
// converge for some rates of few trials.
template <typename Tail>
double largest_with(const Tail& tail, double limit) {
  std::uint64_t within = 0, beyond = std::bit_cast<std::uint64_t>(1.0);
  while (beyond - within > 1) {
    const std::uint64_t middle = within + (beyond - within) / 2;
    (tail(std::bit_cast<double>(middle)) <= limit ? within : beyond) = middle;
  }
  return std::bit_cast<double>(within);
}

}  // namespace

Interval wilson(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  const auto rest = static_cast<double>(rate.trials - rate.events);
  const double t = two_sided_quantile(confidence), t2 = t * t;
  // The roots of (n + t^2) p^2 - (2 x + t^2) p + x^2 / n. The lower one by their product, for the
  // difference cancels where x is small.
  const double high = (x + t2 / 2 + t * std::sqrt(x / n * rest + t2 / 4)) / (n + t2);
  const double low = x / n * x / (n + t2) / high;
  return {std::min(low, x / n), rest == 0 ? 1.0 : std::max(high, x / n)};
}

double lower_bound(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  if (rate.events == 0) return 0;
  if (rate.events == rate.trials) return std::exp(std::log1p(-confidence) / n);
  // P(at least x events) is the incomplete beta function I_p(x, n - x + 1).
  return largest_with([&](double p) { return boost::math::ibeta(x, n - x + 1, p); },
                      1 - confidence);
}

double upper_bound(Rate rate, double confidence) {
  const FloatEnvironment environment;
  require(rate, confidence);
  const auto n = static_cast<double>(rate.trials), x = static_cast<double>(rate.events);
  if (rate.events == rate.trials) return 1;
  if (rate.events == 0) return -std::expm1(std::log1p(-confidence) / n);
  // P(at most x events) is 1 - I_p(x + 1, n - x), and falls with p.
  return largest_with([&](double p) { return -boost::math::ibetac(x + 1, n - x, p); },
                      confidence - 1);
}

Interval bootstrap(const std::vector<Rate>& clusters, double confidence, std::uint64_t seed,
                   std::int64_t replicates) {
  const FloatEnvironment environment;
  require_confidence(confidence);
  std::vector<Rate> known;
  for (const Rate& cluster : clusters) {
    require_rate(cluster);
    if (cluster.trials > 0) known.push_back(cluster);
  }
  if (known.empty()) throw std::invalid_argument("a bootstrap needs a cluster with trials");
  // What (1 - confidence) loses to rounding must not move a whole number to the one below.
  const double outside = (static_cast<double>(replicates) + 1) * ((1 - confidence) / 2) + 1e-9;
  if (outside < 1) {
    throw std::invalid_argument(format("a bootstrap of confidence {} needs {} replicates, not {}",
                                       number_text(confidence),
                                       std::ceil(2 / (1 - confidence) - 1e-9) - 1, replicates));
  }
  std::vector<double> rates(static_cast<std::size_t>(replicates));
  for (std::size_t r = 0; r < rates.size(); ++r) {
    Random random(seed, r);
    Rate sum;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const Rate& drawn = known[random.below(known.size())];
      sum.events += drawn.events;
      sum.trials += drawn.trials;
    }
    rates[r] = static_cast<double>(sum.events) / static_cast<double>(sum.trials);
  }
  const auto k = static_cast<std::ptrdiff_t>(outside) - 1;
  const auto at = [&](std::ptrdiff_t index) {
    std::nth_element(rates.begin(), rates.begin() + index, rates.end());
    return rates[static_cast<std::size_t>(index)];
  };
  return {at(k), at(static_cast<std::ptrdiff_t>(rates.size()) - 1 - k)};
}

std::int64_t sample_size(double p, double half_width, double confidence,
                         std::optional<std::int64_t> population) {
  const FloatEnvironment environment;
  require_confidence(confidence);
  if (!(p >= 0 && p <= 1)) {
    throw std::invalid_argument(format("a rate is 0 to 1, not {}", number_text(p)));
  }
  if (!(half_width > 0 && half_width < 1)) {
    throw std::invalid_argument(
        format("a half width is above 0 and below 1, not {}", number_text(half_width)));
  }
  if (population && *population < 1) {
    throw std::invalid_argument(format("a population is at least 1, not {}", *population));
  }
  const double t = two_sided_quantile(confidence), e2 = half_width * half_width;
  const double spread = t * t * p * (1 - p);
  double n = spread / e2;
  if (population) {
    const auto of = static_cast<double>(*population);
    n = of * spread / (e2 * (of - 1) + spread);
    if (spread == 0) n = 0;
  }
  if (!(n <= 0x1p62)) {
    throw std::invalid_argument(format("a half width of {} would need {} trials",
                                       number_text(half_width), short_number(n)));
  }
  const auto whole = static_cast<std::int64_t>(std::ceil(n));
  return std::clamp<std::int64_t>(whole, 1, population.value_or(std::int64_t{1} << 62));
}

double split_confidence(double confidence, std::int64_t looks) {
  require_confidence(confidence);
  if (looks < 1) throw std::invalid_argument(format("looks are at least 1, not {}", looks));
  return 1 - (1 - confidence) / static_cast<double>(looks);
}

}  // namespace assay::campaign
