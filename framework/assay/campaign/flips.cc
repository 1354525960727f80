#include "assay/campaign/flips.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::inline v0_2::campaign {
namespace {

double rounded(const simd::RoundSpec& spec, double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const double quantum =
      std::max(std::ldexp(1.0, std::ilogb(x) - (52 - spec.drop)), spec.min_subnormal);
  const double r = quantum * std::nearbyint(x / quantum);
  return std::abs(r) > spec.max_finite ? std::copysign(HUGE_VAL, x) : r;
}

// Returns about log(sinh(s h) / (s h)) / s: the part of the tail that a rounding error within +-h
// adds. The comment of simd::flip_bins() derives it.
double tail_part(double s, double h) {
  const double x = s * h;
  return x > simd::kFlipTailLarge ? h - std::log(2 * x) / s : x * h / 6;
}

}  // namespace

std::uint16_t flip_bin(const simd::FlipCheck& c, const Format& format, std::uint64_t bits,
                       int bit) {
  const std::uint64_t mask = std::uint64_t{1} << bit;
  const auto with_direction = [&](int bin) {
    return static_cast<std::uint16_t>(bin + ((bits & mask) != 0 ? int{simd::kFlipBins} : 0));
  };
  const double before = decode(format, bits), after = decode(format, bits ^ mask);
  if (after == before) return with_direction(simd::kBinMasked);
  if (!std::isfinite(after)) return with_direction(simd::kBinNotFinite);
  const double sum = c.stats.sum + (after - before);
  bool unsure = false;
  double difference;
  if (c.rounding != nullptr) {
    const double low = rounded(*c.rounding, sum - c.guard);
    unsure = low != rounded(*c.rounding, sum + c.guard);
    difference = std::abs(low - c.expected);
  } else {
    difference = std::abs(sum - c.expected);
  }
  // The sums over the check's elements after the flip.
  simd::OutputStats changed = c.stats;
  // The exact threshold may be smaller or larger than the computed one by this much.
  double less = 0, more = 0;
  changed.largest =
      std::max(std::abs(before) == c.stats.largest ? c.second : c.stats.largest, std::abs(after));
  const double old_ulp = ulp_of(format, before), new_ulp = ulp_of(format, after);
  if (c.form.uses_sums()) {
    const double u2 = c.stats.ulp_square - old_ulp * old_ulp + new_ulp * new_ulp;
    const double s2 = c.stats.square - before * before + after * after;
    unsure = unsure || u2 < simd::kFlipCancelled * c.stats.ulp_square ||
             (c.form.per_square > 0 && s2 < simd::kFlipCancelled * c.stats.square);
    changed.ulp = c.stats.ulp - old_ulp + new_ulp;
    changed.ulp_square = std::max(u2, 0.0);
    changed.square = std::max(s2, 0.0);
    changed.tail = std::numeric_limits<double>::quiet_NaN();
    const bool asked = difference > c.form.tail_from * c.form.threshold(changed);
    if (asked && c.form.uses_tail() && !std::isnan(c.stats.tail)) {
      const double tail = c.stats.tail, old_half = c.form.half_ulps * old_ulp;
      const double new_half = c.form.half_ulps * new_ulp, slope = c.stats.tail_slope;
      double low = tail, high = tail;
      if (new_ulp > old_ulp) {
        low = std::max(tail, new_half - simd::kFlipTailKept * new_half);
        high = std::min(tail + new_half, c.form.tail_bound(changed));
      } else if (new_ulp < old_ulp) {
        low = tail - old_half;
      }
      const double moved = tail + (tail_part(slope, new_half) - tail_part(slope, old_half));
      changed.tail = std::max(low, std::min(high, moved));
      less = changed.tail - low;
      more = std::max(high - changed.tail, 0.0);
    }
  }
  const double threshold = c.form.threshold(changed);
  const double margin = simd::kFlipBand * threshold + (c.rounding == nullptr ? c.guard : 0);
  const double apart = difference - threshold;
  if (unsure || !(apart > margin + more || -apart > margin + less)) {
    return with_direction(simd::kBinUnsure);
  }
  const bool above = difference > threshold;
  const bool doubtful = above && c.element_error >= 0 &&
                        !(std::abs(after - before) > 2 * old_ulp + 3 * c.element_error);
  return with_direction(simd::ratio_bin(difference == 0 ? 0 : difference / threshold, above) +
                        (doubtful ? simd::kFlipDoubtful : 0));
}

}  // namespace assay::campaign
