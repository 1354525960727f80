// The tail of a sum of independent rounding errors: the value that the sum exceeds with a given
// probability.
#pragma once

#include <limits>
#include <span>

#include "assay/abft/rounding_tail_terms.h"
#include "assay/format/format.h"

namespace assay::inline v0_2::abft {

// Returns the q that e_1 + ... + e_n exceeds with probability exp(-kappa^2 / 2). |e_1 + ... + e_n|
// exceeds it with twice that probability. The e_j are independent errors of rounding to nearest in
// `format`, each uniform within half an ulp of values[j]. q is never above sum ulp(values[j]) / 2,
// the largest possible sum.
//
// The distribution depends only on the ulps. With the cumulant generating function of the sum,
// K(s) = sum log(sinh(s h_j) / (s h_j)), h_j = ulp / 2,
//   P(sum > K'(s)) = exp(K(s) - s K'(s)) / (s sqrt(2 pi K''(s)))
// to first order. This is the saddlepoint approximation of Bahadur and Ranga Rao (Annals of
// Mathematical Statistics 31, 1960; Butler, Saddlepoint Approximations with Applications, 2007). q
// is the K'(s) that has the wanted probability. Compared with the exact distribution, q is never
// too small for kappa >= 4, and is too large by at most 0.2 percent for kappa >= 5.
//
// `coarse`: the values have a single bit below the ulp before they are rounded. Then an error is 0
// with probability 1/2, and half an ulp of either sign with probability 1/4 each. Then
// K(s) = sum 2 log cosh(s h_j / 2), and q is Chernoff's bound, without the divisor. Values with
// more such bits have a smaller q.
//
// `enough`: if q is found to be at least this, the value may be a lower bound of q that is also at
// least `enough`. The slope is then 0.
//
// values must be finite, and kappa above 0. Without values, both results are 0.
RoundingTail rounding_tail(const Format& format, std::span<const double> values, double kappa,
                           bool coarse, double enough = std::numeric_limits<double>::infinity());

// Returns a lower bound of the q of rounding_tail() from two positive numbers: `deviation`, the
// standard deviation of the sum of the errors, and `largest`, the largest half ulp.
//
// r(x) = 3 (coth(x) - 1/x) / x, or tanh(x/2) / (x/2) if `coarse`, falls with x, so
//   K'(s) = sum var(e_j) s r(s h_j) >= s deviation^2 r(s largest).
// s is at least sqrt(2 (kappa^2 / 2 - log of the divisor at kappa)) / deviation, because s K'(s) -
// K(s) and s^2 K''(s) are at most those of a normal distribution.
double least_rounding_tail(double deviation, double largest, double kappa, bool coarse);

}  // namespace assay::abft
