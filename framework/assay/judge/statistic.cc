#include "assay/judge/statistic.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "assay/base/text.h"
#include "assay/format/convert.h"

namespace assay {
namespace {

constexpr std::int64_t kBlock = 2048;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The sums of one subject: the output, a benchmark's, zeros, or the negated expected values.
class Sums {
 public:
  Sums(const Format& format, std::span<const Limit> limits)
      : format_(format), limits_(limits), counts_(limits.size(), 0) {
    for (const Limit& l : limits) {
      ulps_ |= l.statistic == Statistic::kShareUlps || l.statistic == Statistic::kMeanUlps;
    }
  }

  void add(double a, double e) {
    const double d = a - e, size = std::abs(d), size_e = std::abs(e);
    ++n_;
    const double relative = size / (size_e + 1e-7);
    mere_ += relative;
    mare_ = std::max(mare_, relative);
    balance_ += d / std::max(1.0, size_e);
    abs_ += size;
    abs_e_ += size_e;
    max_abs_ = std::max(max_abs_, size);
    const auto wide = [](double v) { return static_cast<long double>(v); };
    square_ += wide(d) * wide(d);
    square_e_ += wide(e) * wide(e);
    square_a_ += wide(a) * wide(a);
    product_ += wide(a) * wide(e);
    double ulps = 0;
    if (ulps_ && d != 0) {
      const auto distance = ulp_distance(format_, encode(format_, a), encode(format_, e));
      ulps = distance ? static_cast<double>(*distance) : kInfinity;
      ulp_sum_ += ulps;
    }
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const Limit& l = limits_[i];
      bool counts = false;
      if (l.statistic == Statistic::kShareRelative)
        counts = d != 0 && !(size < l.parameter * size_e);
      else if (l.statistic == Statistic::kShareUlps)
        counts = ulps > l.parameter;
      else if (l.statistic == Statistic::kSmallErrors)
        counts = size_e < l.parameter && size > l.second;
      counts_[i] += counts ? 1 : 0;
    }
  }

  // The value of limit i; `benchmark` where it needs one.
  double value(std::size_t i, const Sums* benchmark) const {
    const double n = static_cast<double>(n_), u = unit_roundoff(format_);
    if (n_ == 0) return 0;
    switch (limits_[i].statistic) {
      case Statistic::kMere:
        return mere_ / n;
      case Statistic::kMare:
        return mare_;
      case Statistic::kErrorBalance:
        return std::abs(balance_) / n;
      case Statistic::kDiff1:
        return abs_ == 0 ? 0 : abs_ / abs_e_;
      case Statistic::kDiff2:
        return square_ == 0 ? 0 : static_cast<double>(std::sqrt(square_ / square_e_));
      case Statistic::kCosine: {
        // Of two zero vectors the direction is the same; of one it is undefined and counts as 0.
        const long double norms = std::sqrt(square_e_) * std::sqrt(square_a_);
        return norms > 0 ? static_cast<double>(product_ / norms) : square_e_ == square_a_ ? 1 : 0;
      }
      case Statistic::kMaxAbs:
        return max_abs_;
      case Statistic::kShareRelative:
      case Statistic::kShareUlps:
        return static_cast<double>(counts_[i]) / n;
      case Statistic::kMeanUlps:
        return ulp_sum_ / n;
      case Statistic::kCalcDiff: {
        const long double both = square_a_ + square_e_;
        return both == 0 ? 0 : static_cast<double>(1 - 2 * product_ / both);
      }
      case Statistic::kMareRatio:
        return mare_ / std::max(benchmark->mare_, u);
      case Statistic::kMereRatio:
        return mere_ / n / std::max(benchmark->mere_ / n, u);
      case Statistic::kRmseRatio: {
        const double floor = u * static_cast<double>(std::sqrt(square_e_ / n_));
        const double other = static_cast<double>(std::sqrt(benchmark->square_ / n_));
        const double own = static_cast<double>(std::sqrt(square_ / n_));
        return own == 0 ? 0 : own / std::max(other, floor);
      }
      case Statistic::kSmallErrors:
        return static_cast<double>(counts_[i]) /
               static_cast<double>(std::max<std::int64_t>(benchmark->counts_[i], 1));
    }
    return kInfinity;
  }

 private:
  const Format& format_;
  std::span<const Limit> limits_;
  bool ulps_ = false;
  std::int64_t n_ = 0;
  std::vector<std::int64_t> counts_;  // of the limits that count
  double mere_ = 0, mare_ = 0, balance_ = 0, abs_ = 0, abs_e_ = 0, max_abs_ = 0, ulp_sum_ = 0;
  // Squares of float64 values need more exponent than a float64 has.
  long double square_ = 0, square_e_ = 0, square_a_ = 0, product_ = 0;
};

// The least `value` of the readings that can stand for `r`: itself, or those of its group.
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

bool all_hold(std::span<const LimitReading> readings) {
  return std::all_of(readings.begin(), readings.end(),
                     [&](const LimitReading& r) { return holds(readings, r); });
}

double ratio_of(const LimitReading& r) {
  if (r.limit.statistic == Statistic::kCosine) return (1 - r.value) / (1 - r.limit.limit);
  return r.value == 0 ? 0 : r.value / r.limit.limit;
}

std::vector<LimitReading> readings_of(const Sums& sums, std::span<const Limit> limits,
                                      const Sums* benchmark) {
  std::vector<LimitReading> readings;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    const double value = sums.value(i, benchmark);
    readings.push_back({limits[i], value, limits[i].met(value)});
  }
  return readings;
}

}  // namespace

bool holds(std::span<const LimitReading> readings, const LimitReading& r) {
  return least_of_group(readings, r, [](const LimitReading& o) { return o.met ? 0.0 : 1.0; }) == 0;
}

StatisticsResult judge_statistics(const TensorView& actual, const TensorView& expected,
                                  const TensorView* benchmark, bool round_expected,
                                  std::span<const Limit> limits) {
  StatisticsResult result;
  const Format& format = *actual.format;
  const bool compares =
      std::any_of(limits.begin(), limits.end(), [](const Limit& l) { return l.needs_benchmark(); });
  if (compares && benchmark == nullptr) {
    result.why_not =
        "the standard compares with a benchmark's output, and none is given: --benchmark PRODUCER";
    return result;
  }
  if (compares && benchmark->shape != expected.shape) {
    result.why_not = assay::format("the benchmark's output is {}, the expected result {}",
                                   shape_text(benchmark->shape), shape_text(expected.shape));
    return result;
  }
  Sums output(format, limits), zeros(format, limits), negated(format, limits),
      other(format, limits);
  double a[kBlock], e[kBlock], b[kBlock];
  const std::int64_t size = actual.size();
  for (std::int64_t first = 0; first < size; first += kBlock) {
    const std::int64_t count = std::min(kBlock, size - first);
    actual.read(first, count, a);
    expected.read(first, count, e);
    if (compares) benchmark->read(first, count, b);
    if (round_expected && expected.format != &format) {
      round_array(format, e, static_cast<std::size_t>(count));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (!std::isfinite(a[i]) || !std::isfinite(e[i])) continue;
      if (compares && !std::isfinite(b[i])) {
        result.why_not = assay::format(
            "the benchmark's output is {} at position {}, where a finite value is expected",
            number_text(b[i]), first + i);
        return result;
      }
      output.add(a[i], e[i]);
      zeros.add(0, e[i]);
      negated.add(-e[i], e[i]);
      if (compares) other.add(b[i], e[i]);
    }
  }
  const Sums* of = compares ? &other : nullptr;
  result.readings = readings_of(output, limits, of);
  result.met = all_hold(result.readings);
  result.trivial_met =
      all_hold(readings_of(zeros, limits, of)) || all_hold(readings_of(negated, limits, of));
  for (const LimitReading& r : result.readings) {
    result.worst_ratio = std::max(result.worst_ratio, least_of_group(result.readings, r, ratio_of));
  }
  return result;
}

}  // namespace assay
