// Golden rows of softmax, layernorm, rmsnorm and attention: a quick way, and a test of each
// element's rounding.
#pragma once

#include <cstddef>

namespace assay::simd {

// to[0, n) = exp(x - max x) / sum exp(x - max x), each element correctly rounded, -infinity's 0.
// False where a rounding is not sure or the row is not within 600 of its largest, NaN and infinity
// among others; `to` is scratch then. `scratch` has n elements; none of the three overlap. n is at
// least 1.
bool golden_softmax(std::size_t n, const double* x, double* to, double* scratch);

// A sum's two parts, and how far it may be off, relative to it.
struct GoldenSum {
  double high, low, error;
};
// to[0, n) = exp(factor x - max factor x), each element correctly rounded, and their sum before
// they are. False where a rounding is not sure, an element is not finite, or the products are above
// 2^20 or not within 600 of their largest; `to` and the sum are scratch then.
bool golden_exponentials(std::size_t n, const double* x, double factor, double* to, GoldenSum& sum);

struct GoldenNorm {
  double eps;
  bool centre;                  // whether the mean is subtracted
  const double *weight, *bias;  // n of each; nullptr: none
};
// to[0, n) = (x - mean x) / sqrt(mean (x - mean x)^2 + eps) weight + bias, each element as double-
// double arithmetic in any order of the sums rounds it. eps, weights and biases are 0 or of a size
// from 2^-200 to 2^200. False where a rounding is not sure, elements are not of such a size, or all
// is divided by 0; `to` is scratch then.
bool golden_normalise(const GoldenNorm& norm, std::size_t n, const double* x, double* to);

}  // namespace assay::simd
