// The arithmetic of the tail of a sum of rounding errors (rounding_tail.h), from the number of
// errors of each size.
#pragma once

#include "assay/base/kernel_code.h"

namespace assay {
inline namespace v0_2 {
namespace abft {

// The quantile q of rounding_tail() as `value`, and the s that belongs to it as `slope`. If an
// element has another ulp, q changes by the difference of log(sinh(s h) / (s h)) / s with its half
// ulp h, to first order.
struct RoundingTail {
  double value = 0, slope = 0;
};

}  // namespace abft

namespace device {

constexpr double kPi = 0x1.921fb54442d18p+1;

// Returns tanh(x), for x that are not so small that its formula cancels. Uses functions that return
// the same on all platforms.
ASSAY_HERE double tanh_of(double x) {
  const double e = expm1_of(-2 * size_of(x));
  const double size = -e / (2 + e);
  return x < 0 ? -size : size;
}

// Gives L(x) = log E exp(s e), the cumulant generating function of one rounding error e, and its
// derivatives by x, at x = s ulp / 2:
//   L(x) = value + log(ratio)
//   x L'(x) - L(x) = rest - log(ratio)
//   L''(x) = second
// log(ratio) is left to class Logarithms, which takes one logarithm for many errors.
struct Cumulant {
  double value, rest, second, ratio = 1;
};

ASSAY_HERE Cumulant of_uniform(double x) {
  // Computed as a series, because the terms of log(sinh(x) / x) cancel.
  if (x < 0.25) {
    const double y = x * x;
    return {y * (1.0 / 6 + y * (-1.0 / 180 + y * (1.0 / 2835 - y / 37800))),
            y * (1.0 / 6 + y * (-1.0 / 60 + y * (1.0 / 567 - y / 5400))),
            1.0 / 3 + y * (-1.0 / 15 + y * (2.0 / 189 - y / 675))};
  }
  const double e = exp_of(-2 * x), d = 1 - e;  // sinh(x) = exp(x) d / 2
  return {x, 2 * x * e / d - 1, 1 / (x * x) - 4 * e / (d * d), d / (2 * x)};
}

ASSAY_HERE Cumulant of_coarse(double x) {
  const double e = exp_of(-x), d = 1 + e;  // cosh(x / 2) = exp(x / 2) d / 2
  return {x, -2 * x * e / d, 2 * e / (d * d), d * d / 4};
}

// Computes sum n_i log(r_i). Uses one logarithm if the n_i are small.
class Logarithms {
 public:
  ASSAY_IN void add(double ratio, double count) {
    if (count > 16) {
      sum_ += count * log_of(ratio);
      return;
    }
    for (int i = 0; i < static_cast<int>(count); ++i) product_ *= ratio;
    // Above 1e-90, the product remains a normal number after 16 more ratios, which are at least
    // 5e-13.
    if (product_ > 1e-90) return;
    sum_ += log_of(product_);
    product_ = 1;
  }
  ASSAY_IN double sum() const { return product_ == 1 ? sum_ : sum_ + log_of(product_); }

 private:
  double sum_ = 0, product_ = 1;
};

// Returns the log of the factor of exp(K(s) - s K'(s)), for x = s^2 K''(s). The factor is at most
// 1/2, because half of any symmetric distribution lies above 0. It takes at most half of a small
// budget.
ASSAY_HERE double log_factor(double x, double budget) {
  const double log = lesser(-log_of(2 * kPi * x) / 2, log_of(0.5));
  return greater(log, -budget / 2);
}

// Returns a lower bound of s, the argument of K in least_rounding_tail(), for a sum of errors with
// this deviation.
ASSAY_HERE double least_s(double deviation, double kappa, bool coarse) {
  const double budget = kappa * kappa / 2;
  const double factor = coarse ? 0 : log_factor(kappa * kappa, budget);
  return root_of(2 * (budget + factor)) / deviation;
}

// Element i counts the ulps that are 2^-i times the largest one. Smaller ulps than these do not
// matter.
constexpr int kOctaves = 48;
struct UlpCounts {
  double of[kOctaves];
};

ASSAY_HERE double within_one(double x) { return lesser(greater(x, -1), 1); }

// Returns K(s) and its derivatives, of the sizes first, first + step, ... Numbers are in units of
// the largest half ulp.
ASSAY_HERE Cumulant sum_at(double s, const UlpCounts& counts, int used, bool coarse, int first = 0,
                           int step = 1) {
  Cumulant sum{0, 0, 0};
  Logarithms logs;
  double size = scaled(1, -first);
  const double smaller = scaled(1, -step);
  for (int i = first; i < used; i += step, size *= smaller) {
    const double count = counts.of[i];
    if (count == 0) continue;
    const Cumulant c = coarse ? of_coarse(s * size) : of_uniform(s * size);
    sum.value += count * c.value;
    sum.rest += count * c.rest;
    sum.second += count * c.second * size * size;
    if (c.ratio != 1) logs.add(c.ratio, count);
  }
  sum.value += logs.sum();
  sum.rest -= logs.sum();
  return sum;
}

// Returns rounding_tail() for counts of the first `used` sizes. Element 0 counts the half ulps of
// 2^unit. kappa, `coarse` and `enough` are those of rounding_tail(). `sum` is sum_at() or the same
// in parts.
template <typename SumAt>
ASSAY_HERE abft::RoundingTail tail_of(const UlpCounts& counts, int used, int unit, double kappa,
                                      bool coarse, double enough, const SumAt& sum) {
  // From here on, numbers are in units of the largest half ulp.
  double largest = 0, square = 0;
  double h = 1;
  for (int i = 0; i < used; ++i, h /= 2) {
    largest += counts.of[i] * h;
    square += counts.of[i] * h * h;
  }
  const double budget = kappa * kappa / 2;
  // Newton's method for log s. It starts from a value that is too small: that of a normal
  // distribution with the same variance and its own divisor. The slope of the factor is estimated
  // from its last change. The cumulants of bounded errors end at s q = sum h, which few errors
  // reach. q has its minimum in s there, so its error is of the order of the square of the last
  // change.
  constexpr double kMost = 1e12;
  constexpr int kSteps = 60;
  double s = least_s(root_of(square / (coarse ? 2 : 3)), kappa, coarse), factor_slope = 0;
  Cumulant k = sum(s, counts, used, coarse);
  if (const double low = (k.value + k.rest) / s; low >= scaled(enough, -unit)) {
    return {scaled(low, unit), 0};
  }
  double factor = coarse ? 0 : log_factor(s * s * k.second, budget);
  for (int step = 0; step < kSteps && s < kMost; ++step) {
    const double slope = s * s * k.second - factor_slope;
    if (!(slope > 0)) break;
    const double change = within_one((budget + factor - k.rest) / slope);
    s *= exp_of(change);
    k = sum(s, counts, used, coarse);
    const double last = factor;
    factor = coarse ? 0 : log_factor(s * s * k.second, budget);
    if (size_of(change) < 1e-4) break;
    factor_slope = lesser((factor - last) / change, 0.0);
  }
  const double tail = lesser((k.value + budget + factor) / s, largest);
  return {scaled(tail, unit), scaled(s, -unit)};
}

// See least_rounding_tail() in rounding_tail.h.
ASSAY_HERE double least_tail(double deviation, double largest, double kappa, bool coarse) {
  const double s = least_s(deviation, kappa, coarse), x = s * largest;
  double ratio;
  if (x < 0.25) {
    // The first terms of the series are a lower bound.
    ratio = coarse ? 1 - x * x / 12 : 1 - x * x / 15;
  } else {
    ratio = coarse ? tanh_of(x / 2) / (x / 2) : 3 * (1 / tanh_of(x) - 1 / x) / x;
  }
  return s * deviation * deviation * ratio;
}

}  // namespace device
}  // namespace v0_2
}  // namespace assay
