// Tests of draws against a law, each with a probability that it is no smaller than under that law:
// bounds that hold for every number of draws, no limit theorems.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// Draws as the law sees them. Each is a function of a uniform number U of its own in [0, 1], which
// lies within `middle` +- `half`: for a continuous law U = F(x), and the rounding of x leaves it
// open by `half`; for a discrete one U lies between F of the value before and of the value itself,
// and `half` is 0 where `middle` is the centre of that interval, whose mean is 1/2 exactly.
struct Draws {
  std::vector<double> middle, half;
  std::vector<double> low, high;  // the ends of U's interval; empty where the law is a share alone
  // What is drawn, as far as two draws can be told apart; without those that tell nothing.
  std::vector<std::uint64_t> symbols;
  double heaviest = 1;  // no value is drawn with a larger probability
  // Of U - 1/2 (of a discrete law of `middle` - 1/2): its variance and a sub-Gaussian proxy of it,
  // both known beforehand.
  double variance = 1.0 / 12, proxy = 1.0 / 12;
  Shape shape;
};

// sup |F_n - F| against the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant
// (The Annals of Probability 18, 1990): P(sup > d) <= 2 exp(-2 n d^2). Looked at between 65536
// steps of F.
DrawTest function_test(const Draws& draws);
// The mean of U: 2 exp(-n t^2 / (2 proxy)) (Hoeffding 1963).
DrawTest mean_test(const Draws& draws);
// The least and the largest U, which may be too near the ends, and too far from them:
// P(min > a) = (1 - a)^n.
DrawTest ends_test(const Draws& draws);
// Sums of (U_i - 1/2)(U_(i + lag) - 1/2) for neighbours, powers of two, and steps from one row,
// matrix, ... to the next; a supermartingale's bound with the factor that is best at `limit`.
DrawTest serial_test(const Draws& draws, double limit);
// Two stretches of the same values that are so long that chance makes one anywhere with a
// probability of at most `limit`: n^2 / 2 heaviest^length. Of more than 2^21 stretches those with
// certain hashes are looked at, so that equal ones are both looked at or both are not.
DrawTest repeats_test(const Draws& draws, double limit);

// Of values x with a normal law, each known to +- slack: the mean, exactly normal, and the sum of
// squares, exactly chi-square.
DrawTest normal_mean_test(std::span<const double> x, std::span<const double> slack, double mean,
                          double deviation);
DrawTest normal_deviation_test(std::span<const double> x, std::span<const double> slack,
                               double mean, double deviation);

// P(at least, at most so many of n draws), the smaller one twice; `share` is known to +- slack.
double binomial_p_value(std::int64_t count, std::int64_t n, double share, double slack);

// How far off a distribution function must be for function_test() to fail at this limit.
double function_resolution(std::int64_t n, double limit);

}  // namespace assay
