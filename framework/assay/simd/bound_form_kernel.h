// The threshold of one check as a function of the contributions of C's elements. All effects of
// operands, shape and parameters are folded into a few numbers. So code that changes an element
// gets the new threshold without reading the other elements again. (This header is in this room
// because simd/flips_kernel.h has the vector version of the threshold.)
#pragma once

#include <limits>

namespace assay::simd {

// Statistics of the elements c of one check. Infinity and NaN among the elements make every field
// that depends on them infinite or NaN.
struct OutputStats {
  double sum = 0;         // sum c
  double absolute = 0;    // sum |c|
  double largest = 0;     // max |c|
  double ulp = 0;         // sum ulp(c)
  double ulp_square = 0;  // sum ulp(c)^2
  double square = 0;      // sum c^2
  // The value that the sum of their rounding errors exceeds with the budget's probability, if it
  // was computed (abft/rounding_tail.h). If it is NaN, a bound is used instead.
  double tail = std::numeric_limits<double>::quiet_NaN();
  double tail_slope = 0;  // RoundingTail::slope of it
};

// T = constant + per_largest max|c| + per_absolute sum|c|   (one of the two, see `branch`)
//   + tail, or min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp), which is never below it
//   + deviations sqrt(accumulation + per_square sum c^2 + per_ulp_square sum ulp^2)
struct BoundForm {
  // Below this kappa, which is a budget of more than 3e-4, the tail's approximation is no better
  // than its bound.
  static constexpr double kLeastTailKappa = 4;

  double constant = 0;
  double per_largest = 0, per_absolute = 0;

  // If branch > 0, only one of the two is used: per_largest if the peak max|c| / mean|c| of every
  // row is above `branch`, and per_absolute if not. least_peak is the smallest peak of the other
  // rows. columns is the number of elements of this row.
  double branch = 0, least_peak = std::numeric_limits<double>::infinity(), columns = 0;

  // For rounding_variance: the rounding of the outputs (which bounds its tail), then the errors of
  // their accumulation, whose variance is the argument of the second root.
  double kappa = 0, ulp_weight = 0, half_ulps = 0;
  // If D is at most this fraction of the T with min(...), D is also below the T with any smaller
  // tail. The T with min(...) is used then.
  double tail_from = 0;
  double deviations = 0, accumulation = 0, per_square = 0, per_ulp_square = 0;
  bool has_variance = false;

  bool checkable = true;  // the operands and their float64 checksum are finite

  // uses_sums() is true if T depends on the sums of ulps and squares, and uses_tail() if it depends
  // on the tail.
  bool uses_sums() const;
  bool uses_tail() const;
  // Returns min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp).
  double tail_bound(const OutputStats& stats) const;
  // Returns T. Statistics that are not finite make T not finite if T uses them. D is not finite
  // either then, and both flag the check.
  double threshold(const OutputStats& stats) const;
  // Returns the variance of the difference, or NaN if the threshold has no sigma.
  double variance(const OutputStats& stats) const;
};

}  // namespace assay::simd
