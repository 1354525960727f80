// The golden functions: in long double, by the C library, independent of the vector unit's. Each
// takes one float64 and is rounded once from 64 bits or more. At -infinity silu and both forms of
// GELU give their limit, -0.
#pragma once

namespace assay {

double exp_reference(double x);
double log_reference(double x);
double sqrt_reference(double x);
double rsqrt_reference(double x);
double tanh_reference(double x);
double sigmoid_reference(double x);
double silu_reference(double x);
double gelu_reference(double x);       // x Phi(x)
double gelu_tanh_reference(double x);  // x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))

}  // namespace assay
