// The tail of a sum of independent rounding errors: what the sum of so many exceeds with a given
// probability.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

#include "assay/format/format.h"

namespace assay::abft {

// q, and the s that it belongs to: an element with another ulp moves q by the difference of
// log(sinh(s h) / (s h)) / s to first order.
struct RoundingTail {
  double value = 0, slope = 0;
};

// The q that e_1 + ... + e_n exceeds with probability exp(-kappa^2 / 2) (|e_1 + ... + e_n| with
// twice that), where e_j are independent errors of rounding to nearest of values of `format` near
// values[j]: uniform within half an ulp of values[j]. It is never above sum ulp(values[j]) / 2, the
// largest that the sum can be.
//
// The distribution follows from the ulps alone. With the cumulant generating function of the sum,
// K(s) = sum log(sinh(s h_j) / (s h_j)), h_j = ulp / 2,
//   P(sum > K'(s)) = exp(K(s) - s K'(s)) / (s sqrt(2 pi K''(s)))
// to first order: the saddlepoint approximation of Bahadur and Ranga Rao (Annals of Mathematical
// Statistics 31, 1960; Butler, Saddlepoint Approximations with Applications, 2007). q is K'(s)
// where that is the probability asked for. Against the exact distribution q is never too small for
// kappa of 4 and more, and too large by at most 0.2 percent for kappa of 5 and more.
//
// `coarse`: the values that are rounded have a single bit below the ulp, so that an error is 0 with
// probability 1/2 and half an ulp of either sign with 1/4: K(s) = sum 2 log cosh(s h_j / 2), and q
// is Chernoff's bound, without the divisor. Values with more such bits have a smaller q.
//
// `enough`: where q is seen to be no less than this, the value may be a lower bound of q that is no
// less either, and the slope is 0.
//
// values: finite; kappa: above 0. Of no values both are 0.
RoundingTail rounding_tail(const Format& format, std::span<const double> values, double kappa,
                           bool coarse, double enough = std::numeric_limits<double>::infinity());

// A lower bound of the same from two numbers: `deviation`, the standard deviation of the sum of the
// errors, and `largest`, the largest half ulp; both above 0.
//
// With r(x) = 3 (coth(x) - 1/x) / x, or tanh(x/2) / (x/2) where `coarse`, which falls with x,
//   K'(s) = sum var(e_j) s r(s h_j) >= s deviation^2 r(s largest),
// and s is at least sqrt(2 (kappa^2 / 2 + log of the divisor at kappa)) / deviation, for
// s K'(s) - K(s) and s^2 K''(s) are at most those of a normal distribution.
double least_rounding_tail(double deviation, double largest, double kappa, bool coarse);

}  // namespace assay::abft
