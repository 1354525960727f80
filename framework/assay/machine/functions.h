// exp, log, 1/sqrt, tanh and erf in float64, one value at a time: the scalar oracle of the vector
// unit's functions. They use only operations of IEEE 754, including fused multiply-adds, so every
// machine gets the same bits. Errors are within 1.5 ulps of float64, and within 2.5 for tanh.
// Rounded to float32 or a narrower format, the results are correctly rounded, except for values
// within about 2^-53 of a midpoint.
#pragma once

namespace assay::inline v0_2 {

double exp_float64(double x);
double log_float64(double x);
double rsqrt_float64(double x);
double tanh_float64(double x);
double erf_float64(double x);

}  // namespace assay
