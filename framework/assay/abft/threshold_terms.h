// The arithmetic of the thresholds rounding_variance, v_abft and a_abft, from a few numbers of the
// operands (docs/abft.md).
#pragma once

#include "assay/machine/accumulation_terms.h"
#include "assay/simd/bound_form_kernel.h"

namespace assay {
inline namespace v0_2 {
namespace device {

// The numbers of rounding_variance for outputs of one format.
struct VarianceNumbers {
  double kappa;
  bool own;     // C's last rounding is that of its accumulation
  bool coarse;  // ThresholdSpec::coarse
};

// Sets the part of the form that covers the rounding of the outputs, for checks of `columns`
// elements.
ASSAY_HERE void add_casts(simd::BoundForm& form, double columns, bool coarse) {
  form.ulp_weight = 1.0 / (coarse ? 8 : 12);
  form.half_ulps = 0.5;
  // The tail of n errors is at least that of one uniform error with the same variance, sqrt(3)
  // sigma. For few errors it is at least a third of its upper bound, the sum of the half ulps.
  constexpr double kFew = 32, kThird = 1.0 / 3;
  const double of_kappa = 1.7 / form.kappa;
  form.tail_from = columns <= kFew || kThird < of_kappa ? kThird : of_kappa;
}

// Returns the form of rounding_variance for a product with these statistics.
ASSAY_HERE simd::BoundForm variance_form(const AccumulationTerms& accumulation,
                                         const VarianceNumbers& by, const ProductStats& p) {
  simd::BoundForm form;
  form.has_variance = true;
  form.kappa = by.kappa;
  // A float32 result has no cast: its last accumulation is its rounding.
  if (!by.own) add_casts(form, p.columns, by.coarse);
  const AccumulationNoise noise = noise_of(accumulation, p, by.kappa);
  form.deviations = noise.deviations;
  form.accumulation = noise.variance;
  form.per_square = noise.per_square;
  // The error of flushed sums is not random, so it is added to the threshold and not to the
  // variance.
  form.constant = noise.flushed;
  return form;
}
// Replaces the sum of c^2 in a form by the sum of the ulps' squares, as a bound of it: |c| is below
// twice its power of two, and that power is its ulp times 2^mantissa.
ASSAY_HERE void bound_squares_by_ulps(simd::BoundForm& form, int mantissa) {
  form.per_ulp_square = scaled(form.per_square, 2 * mantissa + 2);
  form.per_square = 0;
}

// Mean and variance of a row, or of a part of it, for v_abft.
struct Moments {
  double mean = 0, variance = 0;
};
// Returns the moments of `count` values with this sum. The variance is the bound (max - mean)(mean
// - min).
ASSAY_HERE Moments bounded_moments(double sum, double low, double high, double count) {
  const double mean = sum / count, variance = (high - mean) * (mean - low);
  // By rounding, the computed mean of a constant row may lie outside of the row, and the variance
  // below 0. Such a variance becomes 0. A NaN stays.
  return {mean, variance < 0 ? 0 : variance};
}

// Sums of moments over the rows of B, for one group of columns.
struct GroupMoments {
  double mean = 0, square = 0, variance = 0;
};
// The three terms of V-ABFT's threshold, e_max (mean + c (mixed + pure)).
struct VAbftSums {
  double mean, mixed, pure;
};
ASSAY_HERE VAbftSums v_abft_sums(const Moments& a, const GroupMoments& b, double columns) {
  return {
      columns * size_of(a.mean) * b.mean,
      root_of(columns * a.mean * a.mean * b.variance + columns * columns * a.variance * b.square),
      root_of(columns) * root_of(a.variance) * root_of(b.variance)};
}
ASSAY_HERE double v_abft_threshold(double e_max, double c, const VAbftSums& x) {
  return e_max * (x.mean + c * (x.mixed + x.pure));
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
