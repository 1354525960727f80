// The arithmetic of BoundForm as inline functions, for the loops over checks. It is not in the
// public header, because there a user's compiler options for arithmetic would change it.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/simd/bound_form_kernel.h"

namespace assay::inline v0_2::simd::inlined {

// Returns a term of the threshold. A factor of 0 gives 0, so that it does not turn an infinite
// statistic into NaN.
inline double part(double factor, double x) { return factor == 0 ? 0 : factor * x; }

inline double of_squares(const BoundForm& f, const OutputStats& s) {
  return part(f.per_square, s.square) + part(f.per_ulp_square, s.ulp_square);
}

inline bool uses_tail(const BoundForm& f) {
  return f.ulp_weight > 0 && f.kappa >= BoundForm::kLeastTailKappa;
}

inline double tail_bound(const BoundForm& f, const OutputStats& s) {
  return std::min(f.kappa * std::sqrt(f.ulp_weight * s.ulp_square), f.half_ulps * s.ulp);
}

inline double threshold(const BoundForm& f, const OutputStats& s) {
  double t = f.constant;
  if (f.branch > 0) {
    // The comparison is written so that a row of zeros, whose peak is 0/0, takes the rule with the
    // mean, as the published code does.
    const bool peaks = f.least_peak > f.branch && s.largest > f.branch * (s.absolute / f.columns);
    t += peaks ? f.per_largest * s.largest : f.per_absolute * s.absolute;
  } else {
    t += part(f.per_largest, s.largest) + part(f.per_absolute, s.absolute);
  }
  if (f.ulp_weight > 0) t += uses_tail(f) && !std::isnan(s.tail) ? s.tail : tail_bound(f, s);
  if (f.deviations > 0) t += f.deviations * std::sqrt(f.accumulation + of_squares(f, s));
  return t;
}

inline double variance(const BoundForm& f, const OutputStats& s) {
  if (!f.has_variance) return std::numeric_limits<double>::quiet_NaN();
  return part(f.ulp_weight, s.ulp_square) + f.accumulation + of_squares(f, s);
}

}  // namespace assay::simd::inlined
