#include "assay/judge/limit.h"

#include <algorithm>
#include <optional>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns the smallest of value(r) and value(other) for all other readings in the group of `r`. If
// r is in group 0, returns value(r).
template <typename Value>
double least_of_group(std::span<const LimitReading> readings, const LimitReading& r,
                      const Value& value) {
  if (r.limit.group == 0) return value(r);
  std::optional<double> least;
  for (const LimitReading& other : readings) {
    if (other.limit.group != r.limit.group) continue;
    least = least ? std::min(*least, value(other)) : value(other);
  }
  return least.value_or(value(r));
}

double ratio_of_reading(const LimitReading& r) {
  if (r.limit.statistic == Statistic::kCosine) return (1 - r.value) / (1 - r.limit.limit);
  return r.value == 0 ? 0 : r.value / r.limit.limit;
}

}  // namespace

LimitSense Limit::how() const { return sense.value_or(row().sense); }

std::string Limit::text() const {
  const Metric& metric = metric_of(statistic);
  const std::string_view words = row().words.empty() ? metric.words : row().words;
  return formatted("{} {} {}", fmt::format(fmt::runtime(words), short_number(parameter)),
                   row_of(how()).sign, short_number(limit));
}

bool Limit::met(double value) const { return row_of(how()).met(value, limit); }

bool Limit::needs_reference() const { return row().over_reference; }

bool holds(std::span<const LimitReading> readings, const LimitReading& r) {
  return least_of_group(readings, r, [](const LimitReading& o) { return o.met ? 0.0 : 1.0; }) == 0;
}

bool all_hold(std::span<const LimitReading> readings) {
  return std::ranges::all_of(readings, [&](const LimitReading& r) { return holds(readings, r); });
}

double worst_ratio(std::span<const LimitReading> readings) {
  double worst = 0;
  for (const LimitReading& r : readings) {
    worst = std::max(worst, least_of_group(readings, r, ratio_of_reading));
  }
  return worst;
}

}  // namespace assay
