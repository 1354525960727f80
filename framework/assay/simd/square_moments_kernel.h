// The moments of the squared errors of normally distributed numbers that are rounded last
// (docs/expected_error.md), for many elements at once.
#pragma once

#include <cstddef>

namespace assay::inline v0_2::simd {

// A table of the probability that a normally distributed number is below z. A Taylor polynomial of
// degree 3 around the nearest entry gives the probability to 1e-9. Beyond 7 it counts as certain,
// although 3e-12 are beyond.
struct NormalTable {
  static constexpr int kCertain = 7, kPerUnit = 64, kPlaces = 2 * kCertain * kPerUnit;
  NormalTable();
  double below(double z) const;
  double probability[kPlaces + 1], density[kPlaces + 1];
};
const NormalTable& normal_table();

// A rounding to nearest even of float64 numbers below `most` in size. It drops their last digits.
// Numbers below `least` are rounded to multiples of `tiny`.
struct LastDigits {
  int dropped = 1;        // number of the 52 bits of a normal number that are dropped
  double ulp_of_one = 0;  // 2^(dropped - 52)
  double least = 0, most = 0, tiny = 0;
  // 1.5 2^52 tiny. Adding it to a number rounds the number to a multiple of tiny.
  double magic = 0;
};

// For each element: the mean and variance of the squared error, the largest step between two of its
// values if it has only a few, and the mean of the error itself.
struct SquareMomentArrays {
  double *mean, *variance, *jump, *mean_error;
};

// Limits as numbers of standard deviations. An element counts as having one value only if all its
// values within kReach are rounded to the same number. Sums over values leave out everything beyond
// kSummed.
inline constexpr double kReach = 9, kSummed = 7;

// Writes the moments of (round(e + x) - e)^2 for n elements, x being normal with `mean` and
// `deviation`, which is not negative. A deviation of more than `smooth` ulps counts as one without
// steps: the moments are those of x and of a uniform rounding error. All four are NaN for an
// element whose values may reach `last.most`. An element gives the same bits wherever it lies, on
// every SIMD target.
void square_moments(const LastDigits& last, double smooth, std::size_t n, const double* e,
                    const double* mean, const double* deviation, const SquareMomentArrays& to);

// The moments that theory gives to the errors before the last rounding, and the golden results e.
struct ErrorsBefore {
  const double *e, *mean, *variance, *drift;
};

// For each element: `deviation` is the standard deviation sqrt(variance + (golden_error e)^2).
// `bound` is the largest distance of round(e + mean +- (drift + reach deviation)) from e. `square`
// is ulp(e)^2 / 12 + (|mean| + drift)^2 + deviation^2.
struct ErrorBounds {
  double *deviation, *bound, *square;
};

// Writes the three members of ErrorBounds for n elements. All are NaN for an element whose values
// may reach `last.most`. The bits are the same on every SIMD target.
void error_bounds(const LastDigits& last, double golden_error, double reach, std::size_t n,
                  const ErrorsBefore& errors, const ErrorBounds& to);

// Writes |scale[i]| sqrt(max(square[i], 0)) to to[i] for n elements.
void scaled_roots(std::size_t n, const double* scale, const double* square, double* to);

}  // namespace assay::simd
