// Elementwise rules over whole arrays.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/ordinals.h"

namespace assay::inline v0_2::simd {

// Counts over n elements. With the error |actual[i] - expected[i]|, each step rounded to float64:
// - `mismatches` counts the mismatches, !(error <= atol + rtol * |expected[i]|).
// - `zero_within` counts the elements that would match if actual[i] were 0, including those with
//   expected[i] = 0.
// - `zero` counts the elements with expected[i] = 0.
//
// Every pair with a NaN or infinity counts as a mismatch, and the caller applies its policy to it.
struct Comparison {
  std::int64_t mismatches = 0, zero_within = 0, zero = 0;
};
Comparison compare(const double* actual, const double* expected, std::size_t n, double atol,
                   double rtol);
// Compares float32 arrays in the same way, with float64 arithmetic.
Comparison compare(const float* actual, const float* expected, std::size_t n, double atol,
                   double rtol);

// The formula of a tolerance. Each step is rounded to float64.
enum class ToleranceForm : std::uint8_t {
  kSum,      // the tolerance is atol + rtol |expected|
  kEither,   // the tolerance is max(atol, rtol |expected|)
  kLargest,  // the tolerance is rtol max(floor, |expected|)
  // The tolerance is rtol max(floor, |expected| + |actual|). The error must be below it, or 0.
  kSymmetric,
};
struct Tolerance {
  ToleranceForm form = ToleranceForm::kSum;
  double rtol = 0, atol = 0, floor = 0;
  // If |expected| < small_value, the tolerance is small_atol instead.
  double small_value = 0, small_atol = 0;
};
struct ToleranceComparison : Comparison {
  double worst_ratio = 0;  // largest error / tolerance of the elements with a tolerance above 0
};
// Compares with a tolerance of one of the forms above. Adds own[i] to the tolerance of element i,
// which is then at most the largest finite number. `own` may be null.
ToleranceComparison compare(const double* actual, const double* expected, const double* own,
                            std::size_t n, const Tolerance& tolerance);
// Compares float32 arrays in the same way, with float64 arithmetic and without `own`. The returned
// worst_ratio is the larger of `worst_ratio` and the largest ratio of these arrays.
ToleranceComparison compare(const float* actual, const float* expected, std::size_t n,
                            const Tolerance& tolerance, double worst_ratio);

struct UlpComparison : Comparison {
  double worst_error = 0;  // largest |actual - expected| in units of the spacing at `expected`
};
// Compares values of a format. Finite values are mismatches if their distance is more than `most`
// (below 2^53) representable values.
UlpComparison compare(const double* actual, const double* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most);
// Compares float32 arrays in the same way, for a format whose values float32 holds. The returned
// worst_error is the larger of `worst_error` and the largest error of these arrays.
UlpComparison compare(const float* actual, const float* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most, double worst_error);

}  // namespace assay::simd
