#include "assay/judge/draw_tests.h"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>

#include "assay/base/pool.h"
#include "assay/base/random.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// The law's distribution function F is evaluated at this many steps.
constexpr std::size_t kSteps = 65536;
constexpr std::size_t kMostWindows = std::size_t{1} << 21;

double at_most_one(double p) { return std::clamp(p, 0.0, 1.0); }

std::size_t step_of(double u) {
  return static_cast<std::size_t>(std::clamp(u, 0.0, 1.0) * static_cast<double>(kSteps));
}

// Returns by how much |sum| exceeds `open`, the part of the sum that the rounding of the draws
// leaves uncertain.
double beyond(double sum, double open) { return std::max(0.0, std::abs(sum) - open); }

// Returns the distances in memory at which a kernel may have made equal draws.
std::vector<std::int64_t> lags_of(const Draws& draws) {
  const auto n = static_cast<std::int64_t>(draws.middle.size());
  std::vector<std::int64_t> lags = {3};
  for (std::int64_t lag = 1; lag <= n / 2; lag *= 2) lags.push_back(lag);
  std::int64_t step = 1;
  for (std::size_t d = draws.shape.size(); d-- > 1;) lags.push_back(step *= draws.shape[d]);
  std::ranges::sort(lags);
  lags.erase(std::unique(lags.begin(), lags.end()), lags.end());
  std::erase_if(lags, [&](std::int64_t l) { return l > n / 2; });
  return lags;
}

// Returns the windows of `length` symbols with their hashes. Only windows whose hash has no bit of
// `mask` are returned.
std::vector<std::pair<std::uint64_t, std::int64_t>> windows_of(
    std::span<const std::uint64_t> symbols, std::size_t length, std::uint64_t mask) {
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
  std::uint64_t leaving = 1, hash = 0;
  for (std::size_t i = 0; i < length; ++i) leaving *= kBase;
  std::vector<std::pair<std::uint64_t, std::int64_t>> windows;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    hash = hash * kBase + substream(symbols[i], 1);
    if (i >= length) hash -= leaving * substream(symbols[i - length], 1);
    if (i + 1 < length) continue;
    const std::uint64_t mixed = substream(hash, 2);
    if ((mixed & mask) == 0) windows.emplace_back(mixed, static_cast<std::int64_t>(i + 1 - length));
  }
  return windows;
}

}  // namespace

double function_resolution(std::int64_t n, double limit) {
  return std::sqrt(std::log(2 / limit) / (2 * static_cast<double>(n)));
}

DrawTest function_test(const Draws& draws, double) {
  // If there are few draws, allocating the counters would take most of the time. So the counters
  // are kept between calls, all of them 0.
  struct Counters {
    std::vector<std::int64_t> lows, highs;
  };
  static auto& pool = *new Pool<Counters>([] {
    const std::vector<std::int64_t> none(kSteps + 1);
    return std::make_unique<Counters>(Counters{none, none});
  });
  const auto counters = pool.take();
  auto& [lows, highs] = *counters;
  for (const double u : draws.low) ++lows[step_of(u)];
  for (const double u : draws.high) ++highs[step_of(u)];
  const auto n = static_cast<double>(draws.low.size());
  // Number of draws up to this step of F: those that certainly are, and those that may be.
  std::int64_t surely = 0, perhaps = 0;
  double off = 0, at = 0;
  bool is_more = true;  // true if `surely` increased at the step before
  for (std::size_t k = 0; k <= kSteps; ++k) {
    perhaps += std::exchange(lows[k], 0);
    // The share of draws is furthest above F right after some draws were added, and furthest below
    // F right before the next ones are added. Other steps are skipped.
    if (is_more || k == kSteps || lows[k + 1] != 0) {
      const double f = static_cast<double>(k) / static_cast<double>(kSteps);
      const double above = static_cast<double>(surely) / n - f;
      const double below = f - static_cast<double>(perhaps) / n;
      if (std::max(above, below) > off) off = std::max(above, below), at = f;
    }
    is_more = highs[k] != 0;
    surely += std::exchange(highs[k], 0);
  }
  DrawTest test{.name = "distribution function", .statistic = off};
  test.p_value = at_most_one(2 * std::exp(-2 * n * off * off));
  test.words =
      formatted("differs by at most {}, where it is {}", short_number(off), short_number(at));
  return test;
}

DrawTest mean_test(const Draws& draws, double) {
  double sum = 0, open = 0;
  for (std::size_t i = 0; i < draws.middle.size(); ++i) {
    sum += draws.middle[i] - 0.5;
    open += draws.half[i];
  }
  const auto n = static_cast<double>(draws.middle.size());
  const double off = beyond(sum, open);
  DrawTest test{.name = "mean of F", .statistic = 0.5 + sum / n};
  test.p_value = at_most_one(2 * std::exp(-off * off / (2 * n * draws.proxy)));
  test.words = formatted("{}, expected 0.5", short_number(test.statistic, 5));
  return test;
}

DrawTest ends_test(const Draws& draws, double) {
  const auto n = static_cast<double>(draws.low.size());
  const double inner_low = *std::ranges::min_element(draws.low);
  const double outer_low = *std::ranges::min_element(draws.high);
  const double inner_high = 1 - *std::ranges::max_element(draws.high);
  const double outer_high = 1 - *std::ranges::max_element(draws.low);
  const auto none_below = [&](double u) { return u >= 1 ? 0.0 : std::exp(n * std::log1p(-u)); };
  const auto some_below = [&](double u) { return u >= 1 ? 1.0 : -std::expm1(n * std::log1p(-u)); };
  const double least = std::min({none_below(std::max(0.0, inner_low)), some_below(outer_low),
                                 none_below(std::max(0.0, inner_high)), some_below(outer_high)});
  DrawTest test{.name = "ends", .statistic = std::max(inner_low, inner_high)};
  test.p_value = at_most_one(4 * least);
  test.words =
      formatted("nothing in the lower {} and the upper {} of the law",
                short_number(std::max(0.0, inner_low)), short_number(std::max(0.0, inner_high)));
  return test;
}

DrawTest serial_test(const Draws& draws, double limit) {
  DrawTest test{.name = "serial correlation", .p_value = 2, .words = "too few draws to tell"};
  const std::vector<std::int64_t> lags = lags_of(draws);
  const auto tests = static_cast<double>(lags.size());
  for (const std::int64_t lag : lags) {
    const std::size_t step = static_cast<std::size_t>(lag), pairs = draws.middle.size() - step;
    double sum = 0, open = 0, squares = 0;
    for (std::size_t i = 0; i < pairs; ++i) {
      const double u = draws.middle[i] - 0.5, v = draws.middle[i + step] - 0.5;
      const double du = draws.half[i], dv = draws.half[i + step];
      sum += u * v;
      open += std::abs(u) * dv + std::abs(v) * du + du * dv;
      squares += (std::abs(u) + du) * (std::abs(u) + du);
    }
    const double expected = static_cast<double>(pairs) * draws.variance;
    if (!(expected > 0)) continue;
    // exp(factor S - factor^2 proxy Q / 2) is a supermartingale for every factor that is chosen
    // before the draws are seen. S is the sum of the products, and Q the sum of the squares of
    // their first factors.
    const double factor = std::sqrt(2 * std::log(2 * tests / limit) / (expected * draws.proxy));
    const double exponent =
        factor * beyond(sum, open) - factor * factor * draws.proxy * squares / 2;
    const double p = at_most_one(2 * tests * std::exp(-std::max(0.0, exponent)));
    if (p >= test.p_value) continue;
    test.statistic = sum / expected;
    test.p_value = p;
    test.words = formatted("{} between elements {} apart", short_number(test.statistic), lag);
  }
  test.p_value = at_most_one(test.p_value);
  return test;
}

DrawTest repeats_test(const Draws& draws, double limit) {
  DrawTest test{.name = "repeats", .p_value = 1};
  const std::span<const std::uint64_t> symbols = draws.symbols;
  const auto n = static_cast<double>(symbols.size());
  const double pairs = n * n / 2, share = std::log(1 / draws.heaviest);
  const double needed = std::log(std::max(pairs, 1.0) / limit) / share;
  if (!(needed < n / 2)) {
    test.words = "too few draws to tell";
    return test;
  }
  const auto length = static_cast<std::size_t>(std::max(2.0, std::ceil(needed)));
  std::uint64_t mask = 0;
  while (symbols.size() / (mask + 1) > kMostWindows) mask = 2 * mask + 1;
  auto windows = windows_of(symbols, length, mask);
  std::ranges::sort(windows);
  test.words = formatted("no {} values come twice", length);
  for (std::size_t i = 0; i + 1 < windows.size(); ++i) {
    auto a = static_cast<std::size_t>(windows[i].second),
         b = static_cast<std::size_t>(windows[i + 1].second);
    if (windows[i].first != windows[i + 1].first ||
        !std::equal(symbols.begin() + static_cast<std::ptrdiff_t>(a),
                    symbols.begin() + static_cast<std::ptrdiff_t>(a + length),
                    symbols.begin() + static_cast<std::ptrdiff_t>(b))) {
      continue;
    }
    std::size_t same = length;
    while (b + same < symbols.size() && symbols[a + same] == symbols[b + same]) ++same;
    while (a > 0 && symbols[a - 1] == symbols[b - 1]) --a, --b, ++same;
    test.statistic = static_cast<double>(same);
    test.p_value = at_most_one(std::exp(std::log(pairs) - static_cast<double>(same) * share));
    test.words =
        formatted("the {} values from draw {} on are the same as those from draw {} on",
                  grouped(static_cast<std::int64_t>(same)), grouped(static_cast<std::int64_t>(a)),
                  grouped(static_cast<std::int64_t>(b)));
    break;
  }
  return test;
}

DrawTest normal_mean_test(std::span<const double> x, std::span<const double> slack, double mean,
                          double deviation) {
  double sum = 0;
  for (const double value : x) sum += value - mean;
  const double open = std::accumulate(slack.begin(), slack.end(), 0.0);
  const auto n = static_cast<double>(x.size());
  DrawTest test{.name = "mean", .statistic = mean + sum / n};
  test.p_value = std::erfc(beyond(sum, open) / (deviation * std::sqrt(2 * n)));
  test.words = formatted("{}, expected {}", short_number(test.statistic, 5), short_number(mean, 5));
  return test;
}

DrawTest normal_deviation_test(std::span<const double> x, std::span<const double> slack,
                               double mean, double deviation) {
  double least = 0, most = 0, sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = std::abs(x[i] - mean), open = slack[i];
    const double low = std::max(0.0, off - open) / deviation, high = (off + open) / deviation;
    least += low * low;
    most += high * high;
    sum += off * off;
  }
  const auto n = static_cast<double>(x.size());
  DrawTest test{.name = "deviation", .statistic = std::sqrt(sum / n)};
  const double upper = boost::math::gamma_q(n / 2, least / 2);
  const double lower = boost::math::gamma_p(n / 2, most / 2);
  test.p_value = at_most_one(2 * std::min(upper, lower));
  test.words =
      formatted("{}, expected {}", short_number(test.statistic, 5), short_number(deviation, 5));
  return test;
}

double binomial_p_value(std::int64_t count, std::int64_t n, double share, double slack) {
  const double low = std::max(0.0, share - slack), high = std::min(1.0, share + slack);
  const auto x = static_cast<double>(count), trials = static_cast<double>(n);
  const double at_least = count <= 0 ? 1 : boost::math::ibeta(x, trials - x + 1, high);
  const double at_most = count >= n ? 1 : boost::math::ibetac(x + 1, trials - x, low);
  return at_most_one(2 * std::min(at_least, at_most));
}

}  // namespace assay
