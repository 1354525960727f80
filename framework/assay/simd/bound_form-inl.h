// The arithmetic of BoundForm as inline functions, for the loops over checks and for devices. It is
// not in the public header, because there a user's compiler options for arithmetic would change it.
#pragma once

#include "assay/base/kernel_code.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay {
inline namespace v0_2 {
namespace simd {
namespace inlined {

// Returns a term of the threshold. A factor of 0 gives 0, so that it does not turn an infinite
// statistic into NaN.
ASSAY_HERE double part(double factor, double x) { return factor == 0 ? 0 : factor * x; }

ASSAY_HERE double of_squares(const BoundForm& f, const OutputStats& s) {
  return part(f.per_square, s.square) + part(f.per_ulp_square, s.ulp_square);
}

ASSAY_HERE bool uses_tail(const BoundForm& f) {
  return f.ulp_weight > 0 && f.kappa >= BoundForm::kLeastTailKappa;
}

ASSAY_HERE double tail_bound(const BoundForm& f, const OutputStats& s) {
  return device::lesser(f.kappa * device::root_of(f.ulp_weight * s.ulp_square),
                        f.half_ulps * s.ulp);
}

ASSAY_HERE double threshold(const BoundForm& f, const OutputStats& s) {
  double t = f.constant;
  if (f.branch > 0) {
    // The comparison is written so that a row of zeros, whose peak is 0/0, takes the rule with the
    // mean, as the published code does.
    const bool peaks = f.least_peak > f.branch && s.largest > f.branch * (s.absolute / f.columns);
    t += peaks ? f.per_largest * s.largest : f.per_absolute * s.absolute;
  } else {
    t += part(f.per_largest, s.largest) + part(f.per_absolute, s.absolute);
  }
  if (f.ulp_weight > 0) t += uses_tail(f) && s.tail == s.tail ? s.tail : tail_bound(f, s);
  if (f.deviations > 0) t += f.deviations * device::root_of(f.accumulation + of_squares(f, s));
  return t;
}

ASSAY_HERE double variance(const BoundForm& f, const OutputStats& s) {
  if (!f.has_variance) return kNan;
  return part(f.ulp_weight, s.ulp_square) + f.accumulation + of_squares(f, s);
}

}  // namespace inlined
}  // namespace simd
}  // namespace v0_2
}  // namespace assay
