// Tests of draws against a law. Each gives a p-value: draws from the law deviate as far with at
// most this probability. The bounds hold for every number of draws and use no limit theorems.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Draws as the law describes them. Each draw is a function of its own uniform number U in [0, 1],
// which lies within `middle` +- `half`. For a continuous law, U = F(x), and the rounding of x
// leaves U uncertain by `half`. For a discrete law, U lies between F of the value before and F of
// the value. Then `middle` is the centre of that interval, whose mean is exactly 1/2, and `half` is
// 0 or the error of the given probabilities.
struct Draws {
  std::vector<double> middle, half;
  std::vector<double> low, high;  // the ends of U's interval, or empty for laws of two values
  // A number for each draw. Equal draws have equal numbers. Draws whose value cannot be known are
  // left out.
  std::vector<std::uint64_t> symbols;
  double heaviest = 1;  // the largest probability that the law gives to a single value
  // The variance of U - 1/2, or of `middle` - 1/2 for a discrete law, and a sub-Gaussian proxy of
  // this variance. Both are known before the draws.
  double variance = 1.0 / 12, proxy = 1.0 / 12;
  Shape shape;

  void add(double from, double to, double centre, double uncertain, std::uint64_t symbol) {
    low.push_back(from);
    high.push_back(to);
    middle.push_back(centre);
    half.push_back(uncertain);
    symbols.push_back(symbol);
  }
};

// The tests of `draws` have one signature. Those with a default for `limit` do not use it.
//
// Tests sup |F_n - F| by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant
// (The Annals of Probability 18, 1990): P(sup > d) <= 2 exp(-2 n d^2). F is evaluated at 65536
// steps.
DrawTest function_test(const Draws& draws, double limit = 0);
// Tests the mean of U: P <= 2 exp(-n t^2 / (2 proxy)) (Hoeffding 1963).
DrawTest mean_test(const Draws& draws, double limit = 0);
// Tests the smallest and the largest U, which may be too close to the ends or too far from them:
// P(min > a) = (1 - a)^n.
DrawTest ends_test(const Draws& draws, double limit = 0);
// Tests the sums of (U_i - 1/2)(U_(i + lag) - 1/2) for serial correlation. The lags are 1, 2, 3,
// powers of two, and the steps from one row, matrix, ... to the next. The bound is that of a
// supermartingale, with the factor that is best at `limit`.
DrawTest serial_test(const Draws& draws, double limit);
// Searches for two equal stretches of draws. A stretch is so long that chance makes an equal pair
// anywhere with a probability of at most `limit`. This probability is at most n^2 / 2
// heaviest^length, where `heaviest` is the largest probability of a single value. If there are more
// than 2^21 stretches, only those with certain hashes are compared. Equal stretches have equal
// hashes, so either both are compared or neither is.
DrawTest repeats_test(const Draws& draws, double limit);

// Test values x of a normal law, each known to +- slack. The mean is exactly normal, and the sum of
// squares is exactly chi-square.
DrawTest normal_mean_test(std::span<const double> x, std::span<const double> slack, double mean,
                          double deviation);
DrawTest normal_deviation_test(std::span<const double> x, std::span<const double> slack,
                               double mean, double deviation);

// Returns twice the smaller one of P(at least `count` of n draws) and P(at most `count` of n
// draws), at most 1. `share` is known to +- slack.
double binomial_p_value(std::int64_t count, std::int64_t n, double share, double slack);

// Returns the distance between the law's distribution function and that of n draws above which
// function_test() fails the draws at this limit.
double function_resolution(std::int64_t n, double limit);

}  // namespace assay
