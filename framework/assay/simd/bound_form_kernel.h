// The threshold of one check as a function of what the elements of C contribute to it. Everything
// that operands, shape and parameters give is folded into a few numbers, so that whoever changes an
// element gets the new threshold without looking at the others again. (It stands in this room
// because the kernel of simd/flips_kernel.h is its vector twin.)
#pragma once

#include <limits>

namespace assay::simd {

// Over the elements c of one check. Infinity and NaN among them show in every field that they
// reach.
struct OutputStats {
  double sum = 0;         // sum c
  double absolute = 0;    // sum |c|
  double largest = 0;     // max |c|
  double ulp = 0;         // sum ulp(c)
  double ulp_square = 0;  // sum ulp(c)^2
  double square = 0;      // sum c^2
  // What the sum of their rounding errors exceeds with the budget's probability, where it was
  // computed (abft/rounding_tail.h); else NaN, and a bound of it stands in its place.
  double tail = std::numeric_limits<double>::quiet_NaN();
  double tail_slope = 0;  // RoundingTail::slope of it
};

// T = constant + per_largest max|c| + per_absolute sum|c|   (of these two one alone: see `branch`)
//   + tail, or min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp), which is never below it
//   + deviations sqrt(accumulation + per_square sum c^2 + per_ulp_square sum ulp^2)
struct BoundForm {
  // Where more than 3e-4 is to be exceeded the tail's approximation is no better than its bound.
  static constexpr double kLeastTailKappa = 4;

  double constant = 0;
  double per_largest = 0, per_absolute = 0;

  // Where branch > 0, only one of the two holds: per_largest where the peak max|c| / mean|c| of
  // every row is above `branch`, else per_absolute. least_peak is the smallest peak of the other
  // rows, columns the number of elements of this one.
  double branch = 0, least_peak = std::numeric_limits<double>::infinity(), columns = 0;

  // rounding_variance: the rounding of the outputs (what bounds its tail), then the errors of their
  // accumulation, the variance of which is the argument of the second root.
  double kappa = 0, ulp_weight = 0, half_ulps = 0;
  // Where D is at most this of the T with min(...), no tail that is smaller could be below it, and
  // that T stands.
  double tail_from = 0;
  double deviations = 0, accumulation = 0, per_square = 0, per_ulp_square = 0;
  bool has_variance = false;

  bool checkable = true;  // the operands and their float64 checksum are finite

  // Whether sums of ulps and squares have a part in T, and whether the tail has.
  bool uses_sums() const;
  bool uses_tail() const;
  // min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp).
  double tail_bound(const OutputStats& stats) const;
  // Statistics that are not finite give a T that is not finite wherever T uses them (D is not
  // finite either then): both flag.
  double threshold(const OutputStats& stats) const;
  // Of the difference; NaN where the threshold has no sigma.
  double variance(const OutputStats& stats) const;
};

}  // namespace assay::simd
