// The threshold of one check as a function of the contributions of C's elements. All effects of
// operands, shape and parameters are folded into a few numbers. So code that changes an element
// gets the new threshold without reading the other elements again. (This header is in this room
// because simd/flips_kernel.h has the vector version of the threshold.)
#pragma once

#include "assay/base/constants.h"

namespace assay::inline v0_2::simd {

// Statistics of the elements c of one check. Infinity and NaN among the elements make every field
// that depends on them infinite or NaN.
struct OutputStats {
  double sum = 0;         // sum c
  double absolute = 0;    // sum |c|
  double largest = 0;     // max |c|
  double ulp = 0;         // sum ulp(c)
  double ulp_square = 0;  // sum ulp(c)^2
  double square = 0;      // sum c^2
  // The value that the sum of the elements' rounding errors exceeds with the probability that the
  // budget allows (abft/rounding_tail.h). If it was not computed, it is NaN, and a bound is used
  // instead.
  double tail = kNan;
  double tail_slope = 0;  // RoundingTail::slope of `tail`
};

// A threshold T as a function of the statistics of a check:
//
//   T = constant + per_largest max|c| + per_absolute sum|c|   (one of the two, see `branch`)
//     + tail, or min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp), which is never below it
//     + deviations sqrt(accumulation + per_square sum c^2 + per_ulp_square sum ulp^2)
struct BoundForm {
  // Below this kappa, which is a budget of more than 3e-4, the tail's approximation is no better
  // than its bound.
  static constexpr double kLeastTailKappa = 4;

  double constant = 0;
  double per_largest = 0, per_absolute = 0;

  // If branch > 0, T uses only one of per_largest and per_absolute: per_largest if the peak max|c|
  // / mean|c| of every row is above `branch`, and per_absolute if not. least_peak is the smallest
  // peak of the other rows. columns is the number of elements of this row.
  double branch = 0, least_peak = kInfinity, columns = 0;

  // Only the threshold rounding_variance uses these members. They bound the sum of the elements'
  // rounding errors. The errors of accumulation are under the second root of T instead.
  double kappa = 0, ulp_weight = 0, half_ulps = 0;
  // T is first computed with tail_bound() in place of the tail. If D is at most this fraction of
  // that T, D is also below the T with the tail itself, which is then not computed.
  double tail_from = 0;
  double deviations = 0, accumulation = 0, per_square = 0, per_ulp_square = 0;
  bool has_variance = false;

  bool checkable = true;  // false if an operand or the float64 checksum is not finite

  // uses_sums() is true if T depends on the sums of ulps and squares, and uses_tail() if it depends
  // on the tail.
  bool uses_sums() const;
  bool uses_tail() const;
  // Returns the bound of the tail, min(kappa sqrt(ulp_weight sum ulp^2), half_ulps sum ulp).
  double tail_bound(const OutputStats& stats) const;
  // Returns T. Statistics that are not finite make T not finite if T uses them. D is not finite
  // either then, and both flag the check.
  double threshold(const OutputStats& stats) const;
  // Returns the variance of the difference, or NaN if the threshold has no sigma.
  double variance(const OutputStats& stats) const;
};

}  // namespace assay::simd
