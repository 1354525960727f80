// exp, log, 1/sqrt, tanh and erf in float64, one value at a time: the scalar oracle of the vector
// unit's functions. Operations of IEEE 754 alone, fused multiply-adds among them, so that every
// machine gets the same bits; within 1.5 ulps of float64, tanh 2.5. Rounded to float32 or narrower
// they are the correctly rounded function, but for values that lie within some 2^-53 of a midpoint.
#pragma once

namespace assay {

double exp_float64(double x);
double log_float64(double x);
double rsqrt_float64(double x);
double tanh_float64(double x);
double erf_float64(double x);

}  // namespace assay
