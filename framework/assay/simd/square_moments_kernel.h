// The moments of the squared errors of normally distributed numbers that are rounded last
// (docs/expected_error.md), for many elements at once.
#pragma once

#include <cstddef>

namespace assay::simd {

// The probability that a normally distributed number is below z, to 1e-9. It comes from a table and
// a Taylor polynomial of degree 3 around the nearest entry. Beyond 7 it counts as certain, although
// 3e-12 are beyond.
struct NormalTable {
  static constexpr int kCertain = 7, kPerUnit = 64, kPlaces = 2 * kCertain * kPerUnit;
  NormalTable();
  double below(double z) const;
  double probability[kPlaces + 1], density[kPlaces + 1];
};
const NormalTable& normal_table();

// A rounding to nearest even of float64 numbers below `most` in size, whose last digits it drops.
// Below `least` it gives multiples of `tiny`.
struct LastDigits {
  int dropped = 1;        // number of the 52 bits of a normal number that are dropped
  double ulp_of_one = 0;  // 2^(dropped - 52)
  double least = 0, most = 0, tiny = 0;
  double magic = 0;  // 1.5 2^52 tiny: a sum with it is rounded to a multiple of tiny
};

// For each element: the mean and variance of the squared error, the largest step of the square if
// it has only a few values, and the mean of the error itself.
struct SquareMomentArrays {
  double *mean, *variance, *jump, *mean_error;
};

// Limits in deviations. Within kReach, two roundings must be equal to count as one value. Sums over
// values leave out everything beyond kSummed.
inline constexpr double kReach = 9, kSummed = 7;

// Writes the moments of (round(e + x) - e)^2 for n elements, x being normal with `mean` and
// `deviation`, which is not negative. A deviation of more than `smooth` ulps counts as one without
// steps: the moments are those of x and of a uniform rounding error. All four are NaN for an
// element whose values may reach `last.most`. An element gives the same bits wherever it lies, on
// every SIMD target.
void square_moments(const LastDigits& last, double smooth, std::size_t n, const double* e,
                    const double* mean, const double* deviation, const SquareMomentArrays& to);

// Theory's moments of the errors before the last rounding, and the golden results e.
struct ErrorsBefore {
  const double *e, *mean, *variance, *drift;
};

// For each element: the standard deviation sqrt(variance + (golden_error e)^2), the largest
// distance of round(e + mean +- (drift + reach deviation)) from e, and ulp(e)^2 / 12 + (|mean| +
// drift)^2 + deviation^2.
struct ErrorBounds {
  double *deviation, *bound, *square;
};

// Writes the three for n elements. All are NaN for an element whose values may reach `last.most`.
// The bits are the same on every SIMD target.
void error_bounds(const LastDigits& last, double golden_error, double reach, std::size_t n,
                  const ErrorsBefore& errors, const ErrorBounds& to);

// to[i] = |scale[i]| sqrt(max(square[i], 0)) for n elements.
void scaled_roots(std::size_t n, const double* scale, const double* square, double* to);

}  // namespace assay::simd
