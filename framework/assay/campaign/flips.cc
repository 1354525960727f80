#include "assay/campaign/flips.h"

#include <algorithm>
#include <cmath>

namespace assay::campaign {
namespace {

double rounded(const simd::RoundSpec& spec, double x) {
  if (!std::isfinite(x) || x == 0) return x;
  const double quantum =
      std::max(std::ldexp(1.0, std::ilogb(x) - (52 - spec.drop)), spec.min_subnormal);
  const double r = quantum * std::nearbyint(x / quantum);
  return std::abs(r) > spec.max_finite ? std::copysign(HUGE_VAL, x) : r;
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
  // What the elements contribute with the changed one among them.
  simd::OutputStats changed = c.stats;
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
  }
  const double threshold = c.form.threshold(changed);
  const double margin = simd::kFlipBand * threshold + (c.rounding == nullptr ? c.guard : 0);
  if (unsure || !(std::abs(difference - threshold) > margin)) {
    return with_direction(simd::kBinUnsure);
  }
  const bool above = difference > threshold;
  const bool doubtful = above && c.element_error >= 0 &&
                        !(std::abs(after - before) > 2 * old_ulp + 3 * c.element_error);
  return with_direction(simd::ratio_bin(difference == 0 ? 0 : difference / threshold, above) +
                        (doubtful ? simd::kFlipDoubtful : 0));
}

}  // namespace assay::campaign
