// Golden rows of softmax, layernorm, rmsnorm and attention: a fast path, and a test of each
// element's rounding.
#pragma once

#include <cstddef>

namespace assay::inline v0_2::simd {

// Sets to[0, n) to exp(x - max x) / sum exp(x - max x), with each element correctly rounded, and 0
// for -infinity. Returns false if a rounding is not certain, or if the row is not within 600 of its
// largest element, as with NaN and infinity. `to` is then overwritten. `scratch` has n elements.
// None of the three arrays overlap. n is at least 1.
bool golden_softmax(std::size_t n, const double* x, double* to, double* scratch);

// A sum as two float64 that are added, and its largest relative error.
struct GoldenSum {
  double high, low, error;
};
// Sets to[0, n) to exp(factor x - max factor x), with each element correctly rounded, and `sum` to
// the sum of the elements before this rounding. Returns false if a rounding is not certain, an
// element is not finite, or the products are above 2^20 or not within 600 of their largest. `to`
// and `sum` are then overwritten.
bool golden_exponentials(std::size_t n, const double* x, double factor, double* to, GoldenSum& sum);

struct GoldenNorm {
  double eps;
  bool centre;                  // true if the mean is subtracted
  const double *weight, *bias;  // arrays of n elements, or nullptr
};
// Sets to[0, n) to (x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias. Each element is
// rounded as by double-double arithmetic with any order of the sums. eps, weights and biases must
// be 0 or have a size from 2^-200 to 2^200. Returns false if a rounding is not certain, elements do
// not have such a size, or the divisor is 0. `to` is then overwritten.
bool golden_normalise(const GoldenNorm& norm, std::size_t n, const double* x, double* to);

}  // namespace assay::simd
