// Elementwise rules over whole arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/ordinals.h"

namespace assay::simd {

// Of n elements: those that miss, !(|actual[i] - expected[i]| <= atol + rtol * |expected[i]|), each
// step rounded to float64; those at which 0 in place of actual[i] would not miss, expected[i] = 0
// included; and those with expected[i] = 0. Every pair with a NaN or infinity in it misses: the
// caller settles those by its policy.
struct Comparison {
  std::int64_t misses = 0, zero_within = 0, zero = 0;
};
Comparison compare(const double* actual, const double* expected, std::size_t n, double atol,
                   double rtol);
// The same for float32 arrays, evaluated in float64.
Comparison compare(const float* actual, const float* expected, std::size_t n, double atol,
                   double rtol);

// A tolerance other than the sum above, each step rounded to float64.
enum class ToleranceForm : std::uint8_t {
  kSum,        // atol + rtol |expected|
  kEither,     // max(atol, rtol |expected|)
  kLargest,    // rtol max(floor, |expected|)
  kSymmetric,  // rtol max(floor, |expected| + |actual|), which the error must be below, or be 0
};
struct Tolerance {
  ToleranceForm form = ToleranceForm::kSum;
  double rtol = 0, atol = 0, floor = 0;
  // Where |expected| < small_value the tolerance is small_atol instead.
  double small_value = 0, small_atol = 0;
};
struct ToleranceComparison : Comparison {
  double worst_ratio = 0;  // largest error / tolerance, of a tolerance above 0
};
// `own`: added to the tolerance of each element, which is then at most the largest finite number;
// may be null. The rest as above.
ToleranceComparison compare(const double* actual, const double* expected, const double* own,
                            std::size_t n, const Tolerance& tolerance);
// The same for float32 arrays, evaluated in float64, without bounds of their own. worst_ratio is
// the larger of the one that was found before and theirs.
ToleranceComparison compare(const float* actual, const float* expected, std::size_t n,
                            const Tolerance& tolerance, double worst_ratio);

struct UlpComparison : Comparison {
  double worst_error = 0;  // largest |actual - expected| in units of the spacing at `expected`
};
// Finite values of the format that are more than `most` (below 2^53) representable values apart
// miss.
UlpComparison compare(const double* actual, const double* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most);
// The same of float32 arrays, for a format all of whose values float32 holds. worst_error is the
// larger of the one that was found before and theirs.
UlpComparison compare(const float* actual, const float* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most, double worst_error);

}  // namespace assay::simd
