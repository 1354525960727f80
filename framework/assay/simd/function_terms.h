// The polynomials of exp, log, tanh and erf in float64, which the vector kernels and the scalar
// oracle (machine/functions.h) share. Both use only operations of IEEE 754, in the same order. They
// fuse multiply-adds in polynomials and nowhere else. So every machine gets the same bits.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// Adding this number to x rounds x to a whole number, which is in the low bits of the sum.
// Subtracting the number again gives it as a float64.
inline constexpr double kWholeMagic = 0x1.8p52;
inline constexpr double kLog2E = 0x1.71547652b82fep+0;
// The two parts of ln 2. The first part ends in 21 zero bits, so that its products with exponents
// are exact.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

// The terms t_i of exp(r) = 1 + r + r^2 sum t_i r^i: Taylor's 1/2! to 1/13!. The terms left out are
// below 2^-57 for |r| <= ln 2 / 2.
inline constexpr double kExpTerms[] = {
    1.0 / 2,     1.0 / 6,      1.0 / 24,      1.0 / 120,      1.0 / 720,       1.0 / 5040,
    1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

// The terms t_i of log(1 + f) = s (2 + z sum t_i z^i) with s = f / (2 + f) and z = s^2, the series
// of atanh. The terms left out are below 2^-60 for 1 + f in [sqrt(1/2), sqrt(2)).
inline constexpr double kLogTerms[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                       2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
inline constexpr std::uint64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;

// The terms t_i of erf(a) = a + a sum t_i a^(2 i) for a < 1. The polynomial interpolates at
// Chebyshev's nodes (computed with 90 digits), with an error within 2^-57.
inline constexpr double kErfTerms[] = {
    0x1.06eba8214db69p-3,  -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,  -0x1.b82ce31284e00p-6,
    0x1.565bcd0dbaa38p-8,  -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17,
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30,
    0x1.05ffd737fb32ep-34};
// The terms t_i of exp(a^2) erfc(a) = sum t_i t^i with t = (a - 3) / (a + 3), for 1 <= a <= 6. They
// interpolate as those of erf do. The relative error is within 2^-52.6, which is 2^-55 of erf.
inline constexpr double kErfcTerms[] = {
    0x1.6e9827d229d2dp-3,   -0x1.4e102b9cf8513p-2, 0x1.f6ff204105a04p-3,  -0x1.336ffbef08b8ap-3,
    0x1.258b13b00ec66p-4,   -0x1.8fa58eb5ea92cp-6, 0x1.17c839090a469p-8,  0x1.73101f6d2e434p-11,
    -0x1.39085f2b38287p-11, 0x1.7b9ef7977ceafp-15, 0x1.0cb2e63fe2177p-14, -0x1.af086905fc57fp-17,
    -0x1.0cc37e8e915adp-17, 0x1.0e3fb74fdc507p-19, 0x1.56695202d55bcp-20, 0x1.d0badb83f2cadp-29};

}  // namespace assay::simd
