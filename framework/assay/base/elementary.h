// Elementary functions that give the same bits on every machine, compiler and library. They use
// only + - * / and the square root of float64, which IEEE 754 defines to the last bit, and are
// never contracted. (log, exp and sin of libm differ in the last place between libraries and
// versions.) The errors are those that tests/base/elementary_test.cc measures against MPFR.
#pragma once

namespace assay::inline v0_2::portable {

// Natural logarithm, within 1 ulp. Returns -infinity for 0, and NaN for negative x.
double log(double x);

// e^x, within 1 ulp if the result is normal. Returns 0 or infinity beyond the range.
double exp(double x);

// e^x - 1, within 4 ulp (Kahan's quotient, Higham, Accuracy and Stability of Numerical Algorithms,
// 2nd ed., algorithm 2 of section 1.14.1).
double expm1(double x);

// Sine and cosine of an angle in turns, 2 pi x, for x in [0, 1]; within 2 ulp.
struct SineCosine {
  double sine, cosine;
};
SineCosine of_turns(double x);

// The probability that a standard normal number is below x, with a relative error under 1e-13 for x
// >= -37. Uses a series and a continued fraction (Abramowitz and Stegun 26.2.11 and 26.2.14).
double normal_cdf(double x);

// The inverse of normal_cdf() for p in [0, 1], with a relative error of about 1e-15 (Wichura,
// Algorithm AS 241, PPND16, Applied Statistics 37, 1988). Returns -infinity for 0, infinity for 1,
// and NaN outside of [0, 1].
double normal_quantile(double p);

// Returns x rounded to `bits` significant bits, 2 to 53. Use it for values that have more correct
// bits than this, but differ in the last bits between machines.
double shortened(double x, int bits);

// Coefficients that the vector code of simd/draw.cc shares. Those of log, exp, sine and cosine are
// fdlibm's:
//   Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved. Developed at SunSoft, a Sun
//   Microsystems, Inc. business. Permission to use, copy, modify, and distribute this software is
//   freely granted, provided that this notice is preserved.
inline constexpr double kTwoPi = 0x1.921fb54442d18p+2;
// The high part of log 2 has only 33 bits, so that its product with a float64's exponent is exact.
inline constexpr double kLn2High = 6.93147180369123816490e-01;
inline constexpr double kLn2Low = 1.90821492927058770002e-10;
// kLog has the coefficients of the series log((1 + s) / (1 - s)) = 2 s + s (z kLog[0] + z^2 kLog[1]
// + ...), where z = s^2.
inline constexpr double kLog[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                  2.857142874366239149e-01, 2.222219843214978396e-01,
                                  1.818357216161805012e-01, 1.531383769920937332e-01,
                                  1.479819860511658591e-01};
inline constexpr double kInverseLn2 = 1.44269504088896338700e+00;
inline constexpr double kExp[] = {1.66666666666666019037e-01, -2.77777777770155933842e-03,
                                  6.61375632143793436117e-05, -1.65339022054652515390e-06,
                                  4.13813679705723846039e-08};
inline constexpr double kSine[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                   -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                   -2.50507602534068634195e-08, 1.58969099521155010221e-10};
inline constexpr double kCosine[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                     2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                     2.08757232129817482790e-09, -1.13596475577881948265e-11};

}  // namespace assay::portable
