// Counts elements' errors below, between and above two limits. This finds the n-th smallest of very
// many errors without storing them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

// Two limits, `low` and `high`, and the numbers of errors below `low`, equal to `low`, between the
// two, and equal to `high`. Many errors of rounded results are equal to a limit. `at_high` is 0 if
// `high` equals `low`.
struct ErrorBracket {
  double low, high;
  std::int64_t below = 0, at_low = 0, between = 0, at_high = 0;
};

// Replaces an expected value of 0 in a relative error. It is the spacing of float64 at 1, as in
// Polygraphy.
inline constexpr double kErrorUnit = 0x1p-52;

// Counts the errors |value - expected| of n elements, or these divided by |expected| if `relative`
// is true. If the error is 0, the quotient is 0, too. Elements that are not finite are not counted.
// Writes the errors between the limits to `to`, which has room for n, in the order of the elements.
// Returns the number of errors written.
std::size_t bracket_errors(bool relative, std::size_t n, const double* values,
                           const double* expected, double* to, ErrorBracket& bracket);
// Does the same for float32 numbers. The errors are computed in float64.
std::size_t bracket_errors(bool relative, std::size_t n, const float* values, const float* expected,
                           double* to, ErrorBracket& bracket);

}  // namespace assay::simd
