// Where the errors of elements lie to two bounds: what looks for the n-th smallest of very many
// errors without keeping them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

// Of the errors that were looked at: how many lie below `low`, are `low` itself, which many errors
// of rounded results are, lie between, and are `high` itself (0 where that is `low`).
struct ErrorBracket {
  double low, high;
  std::int64_t below = 0, at_low = 0, between = 0, at_high = 0;
};

// What stands for an expected value of 0 in a relative error: the spacing of float64 at 1, as
// Polygraphy has it.
inline constexpr double kErrorUnit = 0x1p-52;

// Adds |value - expected| of n elements to the counts, or that over |expected|; errors of 0 are 0
// either way, and elements that are not finite have none. Those between the bounds go to `to`,
// which has room for n, in the order of the elements; returns how many they are.
std::size_t bracket_errors(bool relative, std::size_t n, const double* values,
                           const double* expected, double* to, ErrorBracket& bracket);
// The same of float32 numbers, whose errors are those of float64.
std::size_t bracket_errors(bool relative, std::size_t n, const float* values, const float* expected,
                           double* to, ErrorBracket& bracket);

}  // namespace assay::simd
