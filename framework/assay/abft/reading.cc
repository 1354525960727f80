#include "assay/abft/reading.h"

#include <cmath>

#include "assay/base/constants.h"
#include "assay/simd/bound_form-inl.h"

namespace assay::inline v0_2::abft {

double Reading::z() const {
  return difference == 0 ? variance * 0 : difference / std::sqrt(variance);
}

double Reading::z_square() const {
  return difference == 0 ? 0 * variance : difference * difference / variance;
}

bool Reading::is_special() const {
  return !checkable || !std::isfinite(difference) || !std::isfinite(threshold);
}

void Reading::settle(std::int64_t right, bool wrong) {
  if (wrong) {
    checkable = true;
    difference = kInfinity;
  } else if (right > 0) {
    checkable = false;
  }
}

bool Reading::flagged() const {
  return checkable &&
         !(std::isfinite(difference) && std::isfinite(threshold) && difference <= threshold);
}

double ratio_of(const Reading& r) {
  if (!std::isfinite(r.difference) || !std::isfinite(r.threshold)) {
    return kInfinity;
  }
  return r.difference == 0 ? 0 : r.difference / r.threshold;
}

Reading reading_of(const BoundForm& form, const OutputStats& stats, double expected,
                   Arithmetic arithmetic, const Format& output) {
  Reading r;
  r.checkable = form.checkable;
  double sum = stats.sum;
  if (arithmetic == Arithmetic::kOutput && output.is_float()) {
    expected = round_to(output, expected);
    sum = round_to(output, sum);
  }
  r.difference = std::abs(sum - expected);
  r.below = sum < expected;
  r.threshold = simd::inlined::threshold(form, stats);
  if (form.has_variance) r.variance = simd::inlined::variance(form, stats);
  return r;
}

ZTally ZTally::of_means(std::int64_t measured, double rms, double mean) {
  if (measured == 0) return {};
  const auto count = static_cast<double>(measured);
  return {measured, rms * rms * count, mean * count};
}

void ZTally::add(const Reading& r) {
  const double z_square = r.z_square();
  if (!std::isfinite(z_square)) return;
  square += z_square;
  sum += r.below ? -std::sqrt(z_square) : std::sqrt(z_square);
  ++measured;
}

void ZTally::add(const ZTally& other) {
  measured += other.measured;
  square += other.square;
  sum += other.sum;
}

double ZTally::rms() const {
  return measured > 0 ? std::sqrt(square / static_cast<double>(measured)) : kNan;
}

double ZTally::mean() const { return measured > 0 ? sum / static_cast<double>(measured) : kNan; }

}  // namespace assay::abft
