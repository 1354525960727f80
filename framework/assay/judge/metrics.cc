#include "assay/judge/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

void count_special(Tally& tally, double value, double smallest_normal) {
  if (std::isnan(value))
    ++tally.nan;
  else if (std::isinf(value))
    ++(value > 0 ? tally.positive_inf : tally.negative_inf);
  else if (value == 0)
    ++tally.zero;
  else if (std::abs(value) < smallest_normal)
    ++tally.subnormal;
}

void merge_tally(Tally& a, const Tally& b) {
  a.nan += b.nan;
  a.positive_inf += b.positive_inf;
  a.negative_inf += b.negative_inf;
  a.zero += b.zero;
  a.subnormal += b.subnormal;
}

}  // namespace

void MetricsPass::add(const double* actual, const double* expected, const double* rounded,
                      std::size_t n, std::int64_t first, const double* errors) {
  const double smallest_normal = min_normal(*format_);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = actual[i], e = expected[i], r = rounded[i];
    ++total_;
    // The special tallies look only where a value is zero, tiny or not finite.
    const double size_a = std::abs(a), size_e = std::abs(e);
    if (!(size_a >= smallest_normal && std::isfinite(a)))
      count_special(m_.actual, a, smallest_normal);
    if (!(size_e >= smallest_normal && std::isfinite(e))) {
      count_special(m_.expected, e, smallest_normal);
    }
    const double error = errors != nullptr ? errors[i] : a - e;
    if (errors != nullptr) {
      differing_ += error != 0 ? 1 : 0;
      m_.max_ulps = std::max(m_.max_ulps, static_cast<std::uint64_t>(std::abs(error)));
    } else if ((a != r || std::signbit(a) != std::signbit(r)) &&
               !(std::isnan(a) && std::isnan(r))) {
      ++differing_;
      if (!std::isnan(a) && !std::isnan(r)) {
        const auto ulps = ulp_distance(*format_, encode(*format_, a), encode(*format_, r));
        m_.max_ulps = std::max(m_.max_ulps, ulps.value_or(0));
      }
    }
    if (!std::isfinite(a) || !std::isfinite(e)) continue;
    ++m_.compared;
    const double size = std::abs(error);
    abs_sum_ += size;
    signed_sum_ += error;
    if (size > m_.max_abs_error) {
      m_.max_abs_error = size;
      m_.max_abs_index = first + static_cast<std::int64_t>(i);
    }
    if (e != 0) {
      const double relative = size / size_e;
      ++relative_;
      rel_sum_ += relative;
      if (relative > m_.max_rel_error) {
        m_.max_rel_error = relative;
        m_.max_rel_index = first + static_cast<std::int64_t>(i);
      }
    }
    const double floored = size / (size_e + 1e-7);
    mere_sum_ += floored;
    m_.mare = std::max(m_.mare, floored);
    const auto wide = [](double v) { return static_cast<long double>(v); };
    noise_ += wide(error) * wide(error);
    signal_ += wide(e) * wide(e);
    actual_square_ += wide(a) * wide(a);
    product_ += wide(a) * wide(e);
    // What the rule compares with is the rounded value where the bound says so.
    const double judged = bound_->round_expected ? r : e;
    if (!std::isfinite(judged)) continue;
    const double judged_error = errors != nullptr ? size : std::abs(a - judged);
    const double judged_size = std::abs(judged);
    if (judged_error > 0) {
      const double limit = tolerance_at(*bound_, judged);
      worst_ratio_ = std::max(worst_ratio_, judged_error / limit);
    }
    // The smallest that pass, as the rule computes them: one step up where division or subtraction
    // rounded down.
    const double infinity = std::numeric_limits<double>::infinity();
    if (double atol = judged_error - bound_->rtol * judged_size; atol > m_.required_atol) {
      while (!(judged_error <= atol + bound_->rtol * judged_size)) {
        atol = std::nextafter(atol, infinity);
      }
      m_.required_atol = atol;
    }
    if (judged_size == 0) {
      if (judged_error > bound_->atol) m_.required_rtol = infinity;
    } else if (!(judged_error <= bound_->atol + m_.required_rtol * judged_size)) {
      double rtol = (judged_error - bound_->atol) / judged_size;
      while (!(judged_error <= bound_->atol + rtol * judged_size) && rtol < infinity) {
        rtol = std::nextafter(rtol, infinity);
      }
      m_.required_rtol = rtol;
    }
  }
}

void MetricsPass::merge(const MetricsPass& later) {
  const Metrics& o = later.m_;
  m_.compared += o.compared;
  if (o.max_abs_error > m_.max_abs_error) {
    m_.max_abs_error = o.max_abs_error;
    m_.max_abs_index = o.max_abs_index;
  }
  if (o.max_rel_error > m_.max_rel_error) {
    m_.max_rel_error = o.max_rel_error;
    m_.max_rel_index = o.max_rel_index;
  }
  m_.mare = std::max(m_.mare, o.mare);
  m_.max_ulps = std::max(m_.max_ulps, o.max_ulps);
  m_.required_atol = std::max(m_.required_atol, o.required_atol);
  m_.required_rtol = std::max(m_.required_rtol, o.required_rtol);
  merge_tally(m_.actual, o.actual);
  merge_tally(m_.expected, o.expected);
  worst_ratio_ = std::max(worst_ratio_, later.worst_ratio_);
  total_ += later.total_;
  relative_ += later.relative_;
  differing_ += later.differing_;
  abs_sum_ += later.abs_sum_;
  rel_sum_ += later.rel_sum_;
  mere_sum_ += later.mere_sum_;
  signed_sum_ += later.signed_sum_;
  noise_ += later.noise_;
  signal_ += later.signal_;
  actual_square_ += later.actual_square_;
  product_ += later.product_;
}

Metrics MetricsPass::result() const {
  Metrics m = m_;
  const auto n = static_cast<double>(m.compared);
  if (m.compared > 0) {
    m.mean_abs_error = abs_sum_ / n;
    m.rmse = static_cast<double>(std::sqrt(noise_ / static_cast<long double>(n)));
    m.mere = mere_sum_ / n;
    m.bias = signed_sum_ / n;
    m.snr_db = noise_ > 0 ? static_cast<double>(10 * std::log10(signal_ / noise_))
                          : std::numeric_limits<double>::infinity();
    // Of two zero vectors the direction is the same; of one, it is undefined and counts as 0.
    const long double norms = std::sqrt(signal_) * std::sqrt(actual_square_);
    m.cosine =
        norms > 0 ? static_cast<double>(product_ / norms) : (signal_ == actual_square_ ? 1 : 0);
    m.relative_l2 = noise_ == 0 ? 0 : static_cast<double>(std::sqrt(noise_ / signal_));
  }
  if (relative_ > 0) m.mean_rel_error = rel_sum_ / static_cast<double>(relative_);
  m.bit_identical = total_ > 0 && differing_ == 0;
  return m;
}

}  // namespace assay
