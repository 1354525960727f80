#include "assay/judge/metrics_pass.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <mutex>
#include <numeric>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/judge/exact.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::size_t kLanes = simd::kMetricsLanes;
constexpr float kNanOfFloat = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kFirstUlpBin = 2 * simd::kErrorBins;

void count_special(Tally& tally, double value) {
  if (std::isnan(value))
    ++tally.nan;
  else if (std::isinf(value))
    ++(value > 0 ? tally.positive_inf : tally.negative_inf);
}

simd::MetricsSpec spec_of(const Format& f, const Bound& bound, unsigned parts) {
  simd::MetricsSpec spec{};
  spec.parts = parts;
  static_cast<simd::Ordinals&>(spec) = ordinals_of(f);
  spec.rtol = bound.rtol;
  spec.atol = bound.atol;
  spec.judged_rounded = bound.round_expected;
  spec.ulp_rule = !f.is_float()     ? simd::UlpRule::kDifference
                  : has_ordinals(f) ? simd::UlpRule::kOrdinal
                                    : simd::UlpRule::kGiven;
  if (const Limit* small = small_value_limit(f)) {
    spec.small_domain = small->parameter;
    spec.small_error = small->second;
  }
  return spec;
}

std::uint64_t ulps_between(const Format& f, double a, double r) {
  return ulp_distance(f, encode(f, a), encode(f, r)).value_or(0);
}

// Returns the bin of the kernel's tables for a number of ulps.
std::size_t ulp_bin(std::uint64_t ulps) {
  if (ulps == 0) return 0;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(ulps), &exponent) * 2 - 1;
  const auto within = static_cast<std::size_t>(std::ldexp(fraction, simd::kUlpBinBits));
  const auto octave = static_cast<std::size_t>(exponent - 1) << simd::kUlpBinBits;
  return std::min(1 + octave + within, simd::kUlpBins - 1);
}

// Each bin that is not empty with its count, in order.
using Bins = std::vector<std::pair<std::size_t, std::int64_t>>;

void add_bins(Bins& to, const Bins& more) {
  Bins sum;
  sum.reserve(to.size() + more.size());
  std::merge(to.begin(), to.end(), more.begin(), more.end(), std::back_inserter(sum));
  std::size_t last = 0;
  for (std::size_t i = 1; i < sum.size(); ++i) {
    if (sum[i].first == sum[last].first)
      sum[last].second += sum[i].second;
    else
      sum[++last] = sum[i];
  }
  if (!sum.empty()) sum.resize(last + 1);
  to = std::move(sum);
}

// Returns the kernel's bins [begin, begin + count) as a Histogram. `first` is the number that the
// second of these bins has in the Histogram. The first of them also counts `excluded` elements that
// have no error of this kind. They are subtracted.
Histogram histogram_of(const Bins& bins, std::size_t begin, std::size_t count, int bits, int first,
                       std::int64_t excluded) {
  Histogram h{.per_octave = 1 << bits, .below = -excluded};
  const auto place = [&](std::size_t bin) {
    return std::lower_bound(bins.begin(), bins.end(), bin,
                            [](const auto& entry, std::size_t b) { return entry.first < b; });
  };
  const auto last = place(begin + count);
  auto next = place(begin);
  // Reserve no more than is needed, because a gate keeps the histograms of every case.
  h.bins.reserve(static_cast<std::size_t>(last - next));
  for (; next != last; ++next) {
    const auto& [bin, n] = *next;
    const std::size_t at = bin - begin;
    if (at == 0)
      h.below += n;
    else if (at == count - 1)
      h.above = n;
    else
      h.bins.emplace_back(first + static_cast<int>(at) - 1, n);
  }
  return h;
}

// Empty tables that finished passes left. The next pass need not clear new ones.
class SpareTables {
 public:
  std::vector<std::uint16_t> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return std::vector<std::uint16_t>(simd::kTableCounters);
    std::vector<std::uint16_t> taken = std::move(spare_.back());
    spare_.pop_back();
    return taken;
  }

  void give_back(std::vector<std::uint16_t> tables) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(tables));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::uint16_t>> spare_;
};

SpareTables& spare_tables() {
  static auto& spare = *new SpareTables;
  return spare;
}

// Returns x / y, or 0 if both are 0, because then there is no error.
double share(Quad x, Quad y) { return x == 0 ? 0 : static_cast<double>(x / y); }

}  // namespace

bool has_ordinals(const Format& f) {
  return f.is_float() && f.specials != Specials::kTapered && f.specials != Specials::kScale &&
         (f.mantissa_bits() < 52 || f.is_float64());
}

simd::Ordinals ordinals_of(const Format& f) {
  simd::Ordinals of{.min_normal = min_normal(f), .min_subnormal = min_subnormal(f)};
  if (has_ordinals(f)) {
    of.drop = 52 - f.mantissa_bits();
    of.rebias = static_cast<std::uint64_t>(f.min_exponent() + 1022) << f.mantissa_bits();
  }
  return of;
}

MetricsPass::MetricsPass(const Format& output, const Bound& bound, const MetricsRequest& wanted)
    : format_(&part_format(output)),
      bound_(&bound),
      is_complex_(output.is_complex()),
      spec_(spec_of(*format_, bound, wanted.parts)) {
  if (has_tables()) {
    tables_ = spare_tables().take();
  } else {
    quantiles_ = wanted.quantiles;
  }
  if (!has_tables() || !bound.is_plain()) records_.ratio = kInfinity;
}

void MetricsPass::record(double judged_error, double judged) {
  const double judged_size = std::abs(judged);
  if (judged_error > 0 && records_.ratio < kInfinity) {
    records_.ratio = std::max(records_.ratio, judged_error / tolerance_at(*bound_, judged));
  }
  // The smallest tolerances that pass, as the rule computes them. They are one step larger if
  // division or subtraction rounded down.
  if (double atol = judged_error - bound_->rtol * judged_size; atol > records_.atol) {
    while (!(judged_error <= atol + bound_->rtol * judged_size)) {
      atol = std::nextafter(atol, kInfinity);
    }
    records_.atol = atol;
  }
  if (judged_size == 0) {
    if (judged_error > bound_->atol) records_.rtol = kInfinity;
  } else if (!(judged_error <= bound_->atol + records_.rtol * judged_size)) {
    double rtol = (judged_error - bound_->atol) / judged_size;
    while (!(judged_error <= bound_->atol + rtol * judged_size) && rtol < kInfinity) {
      rtol = std::nextafter(rtol, kInfinity);
    }
    records_.rtol = rtol;
  }
}

void MetricsPass::special(double a, double e, double r) {
  count_special(m_.actual, a);
  count_special(m_.expected, e);
  if (std::isnan(a) && std::isnan(r)) {
    ++m_.both_nan;
    nan_met_nan_ = true;
    return;
  }
  const bool finite = std::isfinite(a) && std::isfinite(e);
  if (a == r) {
    ++m_.ulp_compared;
    --no_ulps_;
    if (!finite) ++equal_infinities_;
    return;
  }
  differs_ = true;
  if (finite && std::isnan(r)) ++rounded_to_nan_;
  if (std::isnan(a) || std::isnan(r)) return;
  ++m_.inf_mismatch;
  ++m_.ulp_compared;
  const std::uint64_t ulps = ulps_between(*format_, a, r);
  const Bins bin = {{kFirstUlpBin + ulp_bin(ulps), 1}};
  m_.max_ulps = std::max(m_.max_ulps, ulps);
  sums_[simd::kSumUlps] += static_cast<Quad>(ulps);
  add_bins(bins_, bin);
  if (!finite) {
    infinite_ulps_ += static_cast<Quad>(ulps);
    add_bins(infinite_bins_, bin);
  }
}

template <typename T>
void MetricsPass::take(const T* actual, const T* expected, const T* rounded, const double* errors,
                       const std::uint64_t* distances, std::size_t n, std::int64_t first) {
  const std::size_t lanes = (n + kLanes - 1) / kLanes * kLanes;
  if (has_tables() && in_tables_ + static_cast<std::int64_t>(lanes) >
                          static_cast<std::int64_t>(simd::kTableElements)) {
    empty_tables();
  }
  in_tables_ += static_cast<std::int64_t>(lanes);
  const auto pad = static_cast<std::int64_t>(lanes - n);
  const auto count = static_cast<std::int64_t>(n);
  nan_met_nan_ = false;
  simd::MetricsBlock block;
  if constexpr (sizeof(T) == sizeof(float)) {
    simd::metrics_block(spec_, records_, actual, expected, lanes, tables_.data(), block);
    for (QuantileErrors& q : quantiles_) q.add(actual, expected, n);
  } else {
    simd::MetricsSpec spec = spec_;
    double ulps[kBlock];
    const double* given = nullptr;
    if (errors != nullptr) {
      spec.ulp_rule = simd::UlpRule::kGiven;
      for (std::size_t i = 0; i < lanes; ++i) {
        ulps[i] = distances != nullptr && i < n ? static_cast<double>(distances[i]) : 0;
      }
      given = ulps;
    } else if (spec.ulp_rule == simd::UlpRule::kGiven) {
      for (std::size_t i = 0; i < lanes; ++i) {
        const bool finite = i < n && std::isfinite(actual[i]) && std::isfinite(rounded[i]);
        ulps[i] = finite ? static_cast<double>(ulps_between(*format_, actual[i], rounded[i])) : 0;
      }
      given = ulps;
    }
    simd::metrics_block(spec, records_, actual, expected, rounded, errors, given, lanes,
                        tables_.data(), block);
  }
  const std::int64_t compared = static_cast<std::int64_t>(lanes) - block.not_finite;
  total_ += count;
  m_.compared += compared;
  m_.relative += static_cast<std::int64_t>(lanes) - block.no_relative;
  m_.ulp_compared += static_cast<std::int64_t>(lanes) - block.no_ulps;
  no_error_ += block.not_finite;
  no_relative_ += block.no_relative;
  no_ulps_ += block.no_ulps;
  m_.errors_at_zero += block.errors_at_zero;
  over_1_ulp_ += block.ulps_over_1;
  over_32_ulps_ += block.ulps_over_32;
  m_.rel_at_least_1e3 += block.rel_over_1e3;
  m_.rel_at_least_1e4 += block.rel_over_1e4;
  if (spec_.small_domain > 0) {
    m_.small_values += block.small - block.not_finite;
    m_.small_value_errors += block.small_over;
  }
  m_.actual.zero += block.zero_actual;
  m_.actual.subnormal += block.subnormal_actual;
  m_.expected.zero += block.zero_expected;
  m_.expected.subnormal += block.subnormal_expected;
  m_.expected_rounds |= block.rounds;
  // For integers beyond 2^53, float64 values may be equal although the integers differ. So the
  // exact differences decide whether the tensors differ.
  differs_ |= distances != nullptr ? block.maxima[simd::kMaxUlps] > 0
              : errors != nullptr  ? block.maxima[simd::kMaxAbs] > 0
                                   : block.differs;

  const auto error_at = [&](std::size_t i) {
    return errors != nullptr ? errors[i]
                             : static_cast<double>(actual[i]) - static_cast<double>(expected[i]);
  };
  const auto finite_at = [&](std::size_t i) {
    return std::isfinite(actual[i]) && std::isfinite(expected[i]);
  };
  // Searches for the position of the largest error, but only if it exceeds the largest one so far.
  const auto find = [&](double wanted, const auto& value_at) {
    std::size_t i = 0;
    while (i + 1 < n && !(finite_at(i) && value_at(i) == wanted)) ++i;
    return first + static_cast<std::int64_t>(i);
  };
  if (const double largest = block.maxima[simd::kMaxAbs]; largest > m_.max_abs_error) {
    m_.max_abs_error = largest;
    m_.max_abs_index = find(largest, [&](std::size_t i) { return std::abs(error_at(i)); });
    const auto at = static_cast<std::size_t>(m_.max_abs_index - first);
    if (format_->is_float()) {
      const double there = round_to(*format_, static_cast<double>(rounded[at]));
      m_.max_abs_ulps = largest / ulp_of(*format_, there);
    } else {
      m_.max_abs_ulps =
          distances != nullptr ? std::max(largest, not_below(distances[at])) : largest;
    }
  }
  // An error where 0 is expected counts as an infinite relative error.
  const double largest_rel = block.errors_at_zero > 0 ? kInfinity : block.maxima[simd::kMaxRel];
  if (largest_rel > m_.max_rel_error) {
    m_.max_rel_error = largest_rel;
    m_.max_rel_index = find(largest_rel, [&](std::size_t i) {
      const double size = std::abs(static_cast<double>(expected[i])), off = std::abs(error_at(i));
      return off == 0 ? 0 : off / size;
    });
  }
  m_.mare = std::max(m_.mare, block.maxima[simd::kMaxFloored]);
  m_.max_balanced_error = std::max(m_.max_balanced_error, block.maxima[simd::kMaxBalance]);
  m_.max_abs_expected = std::max(m_.max_abs_expected, block.maxima[simd::kMaxExpected]);
  const double ulps = block.maxima[simd::kMaxUlps];
  if (ulps < 0x1p53 || (distances == nullptr && !format_->is_float())) {
    const auto whole = ulps < 0x1p64 ? static_cast<std::uint64_t>(ulps) : ~std::uint64_t{0};
    m_.max_ulps = std::max(m_.max_ulps, whole);
  } else {  // `ulps` is too large to be exact
    for (std::size_t i = 0; i < n; ++i) {
      const auto a = static_cast<double>(actual[i]), r = static_cast<double>(rounded[i]);
      if (!finite_at(i) || !std::isfinite(r)) continue;
      m_.max_ulps =
          std::max(m_.max_ulps, distances != nullptr ? distances[i] : ulps_between(*format_, a, r));
    }
  }

  // Sums of squares that are too large or too small for float64 are computed in binary128.
  const auto tiny = [&](simd::MetricsSum sum) { return block.sums[sum] < 0x1p-900; };
  bool extreme = (tiny(simd::kSumNoise) && block.maxima[simd::kMaxAbs] > 0) ||
                 (tiny(simd::kSumSignal) && block.zero_expected < compared) ||
                 (tiny(simd::kSumActual) && block.zero_actual < compared);
  extreme &= has_tables();  // squares of float32 values stay within the range of float64
  for (const double sum : block.sums) extreme |= !std::isfinite(sum);
  if (extreme) {
    for (std::size_t i = 0; i < n; ++i) {
      if (!finite_at(i)) continue;
      const auto a = static_cast<Quad>(actual[i]), e = static_cast<Quad>(expected[i]);
      const Quad error = errors != nullptr ? static_cast<Quad>(errors[i]) : a - e;
      const Quad size = quad::abs(error), size_e = quad::abs(e);
      sums_[simd::kSumAbs] += size;
      sums_[simd::kSumSigned] += error;
      if (e != 0) sums_[simd::kSumRel] += size / size_e;
      sums_[simd::kSumFloored] += size / (size_e + 1e-7);
      sums_[simd::kSumBalance] += error / std::max(Quad{1}, size_e);
      sums_[simd::kSumNoise] += error * error;
      sums_[simd::kSumSignal] += e * e;
      sums_[simd::kSumActual] += a * a;
      sums_[simd::kSumProduct] += a * e;
      sums_[simd::kSumExpected] += size_e;
    }
    sums_[simd::kSumUlps] += static_cast<Quad>(block.sums[simd::kSumUlps]);
  } else {
    add_sums(block.sums);
  }

  if (is_complex_) return;  // add_complex() has already counted NaN and infinity
  // An error that overflows float64 exceeds every bound.
  may_mismatch_ = block.not_finite > pad || std::isinf(block.maxima[simd::kMaxAbs]);
  met_special_ = block.not_finite > pad;
  if (!has_tables()) met_special_ |= block.maxima[simd::kMaxExpected] > max_finite(*format_);
  for (std::size_t group = 0; group < lanes / kLanes; ++group) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, block.groups + group / 8 * 8, sizeof eight);
    if (eight == 0) group |= 7;
    if (block.groups[group] == 0) continue;
    for (std::size_t i = group * kLanes; i < std::min(n, (group + 1) * kLanes); ++i) {
      const auto a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
      const auto r = static_cast<double>(rounded[i]);
      if (!std::isfinite(a) || !std::isfinite(e) || !std::isfinite(r)) {
        special(a, e, r);
        may_mismatch_ = met_special_ = true;
      }
      // If the bound rounds expected values, the rule compares with the rounded one.
      const double judged = bound_->round_expected ? r : e;
      if (!std::isfinite(a) || !std::isfinite(e) || !std::isfinite(judged)) continue;
      const double error = errors != nullptr ? errors[i] + (e - judged) : a - judged;
      if (has_tables()) record(std::abs(error), judged);
    }
  }
  may_mismatch_ |= records_.ratio >= 1;
}

void MetricsPass::add_sums(const double* sums) {
  constexpr double kMost = 0x1p900;  // a sum of numbers below this size does not overflow float64
  bool ordinary = true;
  for (std::size_t s = 0; s < simd::kMetricsSums; ++s) ordinary &= std::abs(sums[s]) < kMost;
  for (std::size_t s = 0; s < simd::kMetricsSums; ++s) {
    if (ordinary) {
      const DoubleDouble sum = exact_sum(rounded_sums_[s], sums[s]);
      rounded_sums_[s] = sum.high;
      rounding_[s] += sum.low;
    } else {
      sums_[s] += static_cast<Quad>(sums[s]);
    }
  }
}

void MetricsPass::add(double* actual, double* expected, double* rounded, std::size_t n,
                      std::int64_t first, const IntegerErrors* exact) {
  const bool is_exact = exact != nullptr;
  add_padded(actual, expected, rounded, n, first, is_exact ? exact->errors : nullptr,
             is_exact ? exact->ulps : nullptr);
}

void MetricsPass::add_padded(double* actual, double* expected, double* rounded, std::size_t n,
                             std::int64_t first, const double* errors,
                             const std::uint64_t* distances) {
  double padded[kBlock];
  for (std::size_t i = n; i % kLanes != 0; ++i) actual[i] = expected[i] = rounded[i] = kNan;
  if (errors != nullptr && n % kLanes != 0) {
    std::copy_n(errors, n, padded);
    std::fill(padded + n, padded + (n + kLanes - 1) / kLanes * kLanes, 0.0);
    errors = padded;
  }
  take(actual, expected, rounded, errors, distances, n, first);
}

void MetricsPass::add(const float* actual, const float* expected, std::size_t n,
                      std::int64_t first) {
  float padded_actual[kBlock], padded_expected[kBlock];
  if (const std::size_t lanes = (n + kLanes - 1) / kLanes * kLanes; lanes > n) {
    std::fill(std::copy_n(actual, n, padded_actual), padded_actual + lanes, kNanOfFloat);
    std::fill(std::copy_n(expected, n, padded_expected), padded_expected + lanes, kNanOfFloat);
    actual = padded_actual;
    expected = padded_expected;
  }
  take(actual, expected, expected, nullptr, nullptr, n, first);
}

void MetricsPass::add_complex(const double* actual, const double* expected, const double* rounded,
                              std::size_t n, std::int64_t first) {
  const auto is_nan = [](const double* x) { return std::isnan(x[0]) || std::isnan(x[1]); };
  const auto is_finite = [](const double* x) { return std::isfinite(x[0]) && std::isfinite(x[1]); };
  const auto count_special = [&](Tally& tally, const double* x) {
    tally.nan += is_nan(x) ? 1 : 0;
    tally.positive_inf += !is_nan(x) && !is_finite(x) ? 1 : 0;  // in any direction
  };
  double a[kBlock], e[kBlock], errors[kBlock];
  for (std::size_t i = 0; i < n; ++i) {
    const double *x = actual + 2 * i, *y = expected + 2 * i, *r = rounded + 2 * i;
    m_.expected_rounds |= is_finite(y) && (y[0] != r[0] || y[1] != r[1]);
    if (is_finite(x) && is_finite(y) && is_finite(r)) {
      a[i] = hypot(x[0], x[1]);
      e[i] = hypot(y[0], y[1]);
      errors[i] = hypot(x[0] - y[0], x[1] - y[1]);
      // If the bound rounds expected values, the rule compares with the rounded one.
      const double* judged = bound_->round_expected ? r : y;
      record(hypot(x[0] - judged[0], x[1] - judged[1]), hypot(judged[0], judged[1]));
      continue;
    }
    // NaN keeps this element out of the kernel's sums, as it keeps out the lanes that fill up the
    // last group.
    a[i] = e[i] = errors[i] = kNan;
    count_special(m_.actual, x);
    count_special(m_.expected, y);
    if (is_nan(x) && is_nan(r)) {
      ++m_.both_nan;
    } else if (!is_nan(x) && !is_nan(r) && (x[0] != r[0] || x[1] != r[1])) {
      ++m_.inf_mismatch;
    }
  }
  add_padded(a, e, e, n, first, errors, nullptr);
}

void MetricsPass::empty_tables() {
  // Most bins are empty, so kTogether bins are checked at once.
  constexpr std::size_t kTogether = 16;
  Bins found;
  for (std::size_t first = 0; first < simd::kBinsOfAllTables; first += kTogether) {
    const std::size_t end = std::min(first + kTogether, simd::kBinsOfAllTables);
    if (end == first + kTogether) {
      std::uint64_t words[kTogether * kLanes / 4], any = 0;
      std::memcpy(words, tables_.data() + first * kLanes, sizeof words);
      for (const std::uint64_t word : words) any |= word;
      if (any == 0) continue;
    }
    for (std::size_t bin = first; bin < end; ++bin) {
      std::uint16_t* const lanes = tables_.data() + bin * kLanes;
      const std::int64_t count = std::accumulate(lanes, lanes + kLanes, std::int64_t{0});
      if (count == 0) continue;
      found.emplace_back(bin, count);
      std::fill_n(lanes, kLanes, std::uint16_t{0});
    }
  }
  add_bins(bins_, found);
  in_tables_ = 0;
}

void MetricsPass::finish() {
  for (std::size_t s = 0; s < simd::kMetricsSums; ++s) {
    if (rounded_sums_[s] != 0 || rounding_[s] != 0) {
      sums_[s] += static_cast<Quad>(rounded_sums_[s]) + static_cast<Quad>(rounding_[s]);
    }
  }
  rounded_sums_ = rounding_ = {};
  if (!has_tables()) return;
  empty_tables();
  spare_tables().give_back(std::exchange(tables_, {}));
}

void MetricsPass::merge(const MetricsPass& later) {
  assay::merge(m_, later.m_);
  records_.ratio = std::max(records_.ratio, later.records_.ratio);
  records_.atol = std::max(records_.atol, later.records_.atol);
  records_.rtol = std::max(records_.rtol, later.records_.rtol);
  total_ += later.total_;
  differs_ |= later.differs_;
  for (std::size_t s = 0; s < simd::kMetricsSums; ++s) sums_[s] += later.sums_[s];
  add_bins(bins_, later.bins_);
  no_error_ += later.no_error_;
  no_relative_ += later.no_relative_;
  no_ulps_ += later.no_ulps_;
  equal_infinities_ += later.equal_infinities_;
  over_1_ulp_ += later.over_1_ulp_;
  over_32_ulps_ += later.over_32_ulps_;
  rounded_to_nan_ += later.rounded_to_nan_;
  infinite_ulps_ += later.infinite_ulps_;
  add_bins(infinite_bins_, later.infinite_bins_);
  for (std::size_t q = 0; q < quantiles_.size(); ++q) quantiles_[q].merge(later.quantiles_[q]);
}

std::optional<std::int64_t> MetricsPass::over_ulps(double ulps) const {
  if (has_tables() || (spec_.parts & simd::kPartUlps) == 0) return {};
  if (ulps == 1) return over_1_ulp_;
  if (ulps == 32) return over_32_ulps_;
  return {};
}

const QuantileErrors* MetricsPass::quantile(bool relative, double share) const {
  for (const QuantileErrors& errors : quantiles_) {
    if (errors.relative == relative && errors.share == share) return &errors;
  }
  return nullptr;
}

double MetricsPass::expected_rms() const {
  if (m_.compared == 0) return 0;
  const auto n = static_cast<Quad>(m_.compared);
  return static_cast<double>(quad::sqrt(sums_[simd::kSumSignal] / n));
}

Metrics MetricsPass::result() const { return result_of(bins_, no_ulps_, sums_[simd::kSumUlps]); }

Metrics MetricsPass::finite_result() const {
  Bins bins = bins_, infinite = infinite_bins_;
  for (auto& [bin, count] : infinite) count = -count;
  add_bins(bins, infinite);
  std::erase_if(bins, [](const auto& bin) { return bin.second == 0; });
  const Quad sum = sums_[simd::kSumUlps] - infinite_ulps_;
  Metrics m = result_of(bins, no_ulps_ + equal_infinities_, sum);
  m.ulp_compared = m.compared;
  m.ulps.above += rounded_to_nan_;
  m.mean_ulps = rounded_to_nan_ > 0 ? kInfinity
                : m.compared == 0   ? 0
                                    : static_cast<double>(sum / static_cast<Quad>(m.compared));
  return m;
}

Metrics MetricsPass::result_of(const Bins& bins, std::int64_t no_ulps, Quad sum_ulps) const {
  Metrics m = m_;
  const auto n = static_cast<Quad>(m.compared);
  const auto sum = [&](simd::MetricsSum s) { return sums_[s]; };
  const Quad noise = sum(simd::kSumNoise), signal = sum(simd::kSumSignal);
  const Quad square = sum(simd::kSumActual);
  // For complex elements, the real part of sum actual * conj(expected).
  const Quad product = is_complex_ ? (signal + square - noise) / 2 : sum(simd::kSumProduct);
  if (m.max_abs_error == 0) m.max_abs_ulps = 0;
  if (m.compared > 0) {
    m.mean_abs_error = static_cast<double>(sum(simd::kSumAbs) / n);
    m.rmse = static_cast<double>(quad::sqrt(noise / n));
    m.mere = static_cast<double>(sum(simd::kSumFloored) / n);
    m.bias = static_cast<double>(sum(simd::kSumSigned) / n);
    m.error_balance = static_cast<double>(sum(simd::kSumBalance) / n);
    m.snr_db = noise > 0 ? static_cast<double>(10 * quad::log10(signal / noise)) : kInfinity;
    m.psnr_db =
        noise > 0 ? static_cast<double>(20 * quad::log10(m.max_abs_expected / m.rmse)) : kInfinity;
    // Two zero vectors have the same direction. If only one is zero, the cosine is undefined and
    // counts as 0.
    const Quad norms = quad::sqrt(signal) * quad::sqrt(square);
    m.cosine = norms > 0 ? static_cast<double>(product / norms) : (signal == square ? 1 : 0);
    m.relative_l2 = m.diff2 = noise == 0 ? 0 : static_cast<double>(quad::sqrt(noise / signal));
    m.diff1 = share(sum(simd::kSumAbs), sum(simd::kSumExpected));
    m.deepgemm_diff = share(noise, signal + square);
  }
  if (m.errors_at_zero > 0)
    m.mean_rel_error = kInfinity;
  else if (m.relative > 0)
    m.mean_rel_error = static_cast<double>(sum(simd::kSumRel) / static_cast<Quad>(m.relative));
  if (m.ulp_compared > 0) {
    m.mean_ulps = static_cast<double>(sum_ulps / static_cast<Quad>(m.ulp_compared));
  }
  m.required_atol = records_.atol;
  m.required_rtol = records_.rtol;
  m.required_at_rtol = bound_->rtol;
  m.required_at_atol = bound_->atol;
  m.required_rounded = bound_->round_expected;
  m.small_limit = spec_.small_domain;
  m.small_error = spec_.small_error;
  m.bit_identical = total_ > 0 && !differs_;
  if (!has_tables()) return m;

  constexpr int kFirstErrorBin = -simd::kErrorExponent * (1 << simd::kErrorBinBits);
  m.abs_errors =
      histogram_of(bins, 0, simd::kErrorBins, simd::kErrorBinBits, kFirstErrorBin, no_error_);
  m.rel_errors = histogram_of(bins, simd::kErrorBins, simd::kErrorBins, simd::kErrorBinBits,
                              kFirstErrorBin, no_relative_);
  m.ulps = histogram_of(bins, kFirstUlpBin, simd::kUlpBins, simd::kUlpBinBits, 0, no_ulps);
  const auto quantile = [](const Histogram& h, double q, double largest) {
    return h.total() == 0 ? 0 : std::min(h.quantile(q), largest);
  };
  m.median_abs_error = quantile(m.abs_errors, 0.5, m.max_abs_error);
  m.p99_abs_error = quantile(m.abs_errors, 0.99, m.max_abs_error);
  Histogram relative = m.rel_errors;
  relative.above += m.errors_at_zero;
  m.median_rel_error = quantile(relative, 0.5, m.max_rel_error);
  m.p99_rel_error = quantile(relative, 0.99, m.max_rel_error);
  m.p99_ulps = std::floor(quantile(m.ulps, 0.99, static_cast<double>(m.max_ulps)));
  // Each number of ulps below 64 has a bin of its own, so the counts of elements with at least 2 or
  // 33 ulps are exact.
  m.over_1_ulp = m.ulps.at_least(2).first;
  m.over_32_ulps = m.ulps.at_least(33).first;
  if (is_complex_) {
    m.is_complex = true;
    m.bias = m.error_balance = m.max_abs_ulps = std::numeric_limits<double>::quiet_NaN();
    m.ulp_compared = m.over_1_ulp = m.over_32_ulps = m.small_values = m.small_value_errors = 0;
    m.max_ulps = 0;
    m.mean_ulps = m.p99_ulps = m.small_limit = m.small_error = 0;
    m.ulps = histogram_of({}, kFirstUlpBin, simd::kUlpBins, simd::kUlpBinBits, 0, 0);
  }
  return m;
}

}  // namespace assay
