#include "assay/simd/bound_form.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::simd {

namespace {

// A factor of 0 takes no part: it must not turn an infinite statistic into NaN.
double part(double factor, double x) { return factor == 0 ? 0 : factor * x; }

}  // namespace

bool BoundForm::uses_sums() const { return kappa > 0 || deviations > 0; }

bool BoundForm::uses_tail() const { return ulp_weight > 0 && kappa >= kLeastTailKappa; }

double BoundForm::tail_bound(const OutputStats& s) const {
  return std::min(kappa * std::sqrt(ulp_weight * s.ulp_square), half_ulps * s.ulp);
}

double BoundForm::threshold(const OutputStats& s) const {
  double t = constant;
  if (branch > 0) {
    // Positive: a row of zeros has no peak (0/0) and takes the mean, as its origin does.
    const bool peaks = least_peak > branch && s.largest > branch * (s.absolute / columns);
    t += peaks ? per_largest * s.largest : per_absolute * s.absolute;
  } else {
    t += part(per_largest, s.largest) + part(per_absolute, s.absolute);
  }
  if (ulp_weight > 0) t += uses_tail() && !std::isnan(s.tail) ? s.tail : tail_bound(s);
  if (deviations > 0) {
    t += deviations * std::sqrt(accumulation +
                                (part(per_square, s.square) + part(per_ulp_square, s.ulp_square)));
  }
  return t;
}

double BoundForm::variance(const OutputStats& s) const {
  if (!has_variance) return std::numeric_limits<double>::quiet_NaN();
  return part(ulp_weight, s.ulp_square) + accumulation +
         (part(per_square, s.square) + part(per_ulp_square, s.ulp_square));
}

}  // namespace assay::simd
