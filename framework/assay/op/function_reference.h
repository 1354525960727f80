// The golden functions, independent of the vector unit's: in double-double arithmetic or in
// binary128, with the same bits on every processor. Each takes one float64 and returns the
// correctly rounded result, unless that result lies within about 2^-90 of the middle between two
// float64. At -infinity silu and both forms of GELU return their limit, -0.
#pragma once

#include <cstddef>

#include "assay/simd/golden_functions.h"

namespace assay::inline v0_2 {

double exp_reference(double x);
double log_reference(double x);
double sqrt_reference(double x);
double rsqrt_reference(double x);
double tanh_reference(double x);
double sigmoid_reference(double x);
double silu_reference(double x);
double gelu_reference(double x);       // x Phi(x)
double gelu_tanh_reference(double x);  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))

// Replaces each of values[0, n) by the function of it, with the same bits as the functions above.
// Computes many values at a time if the quick way's rounding is certain, and the others one by one.
void function_references(simd::GoldenFunction function, std::size_t n, double* values);

}  // namespace assay
