#include "assay/abft/rounding_tail.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "assay/base/elementary.h"

namespace assay::inline v0_2::abft {
namespace {

// Returns tanh(x), for x that are not so small that its formula cancels. Uses functions that return
// the same on all platforms.
double tanh_of(double x) {
  const double e = portable::expm1(-2 * std::abs(x));
  return std::copysign(-e / (2 + e), x);
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

Cumulant of_uniform(double x) {
  // Computed as a series, because the terms of log(sinh(x) / x) cancel.
  if (x < 0.25) {
    const double y = x * x;
    return {y * (1.0 / 6 + y * (-1.0 / 180 + y * (1.0 / 2835 - y / 37800))),
            y * (1.0 / 6 + y * (-1.0 / 60 + y * (1.0 / 567 - y / 5400))),
            1.0 / 3 + y * (-1.0 / 15 + y * (2.0 / 189 - y / 675))};
  }
  const double e = portable::exp(-2 * x), d = 1 - e;  // sinh(x) = exp(x) d / 2
  return {x, 2 * x * e / d - 1, 1 / (x * x) - 4 * e / (d * d), d / (2 * x)};
}

Cumulant of_coarse(double x) {
  const double e = portable::exp(-x), d = 1 + e;  // cosh(x / 2) = exp(x / 2) d / 2
  return {x, -2 * x * e / d, 2 * e / (d * d), d * d / 4};
}

// Computes sum n_i log(r_i). Uses one logarithm if the n_i are small.
class Logarithms {
 public:
  void add(double ratio, double count) {
    if (count > 16) {
      sum_ += count * portable::log(ratio);
      return;
    }
    for (int i = 0; i < static_cast<int>(count); ++i) product_ *= ratio;
    // Above 1e-90, the product remains a normal number after 16 more ratios, which are at least
    // 5e-13.
    if (product_ > 1e-90) return;
    sum_ += portable::log(product_);
    product_ = 1;
  }
  double sum() const { return product_ == 1 ? sum_ : sum_ + portable::log(product_); }

 private:
  double sum_ = 0, product_ = 1;
};

// Returns the log of the factor of exp(K(s) - s K'(s)), for x = s^2 K''(s). The factor is at most
// 1/2, because half of any symmetric distribution lies above 0. It takes at most half of a small
// budget.
double log_factor(double x, double budget) {
  const double log = std::min(-portable::log(2 * std::numbers::pi * x) / 2, portable::log(0.5));
  return std::max(log, -budget / 2);
}

// Returns a lower bound of s, the argument of K in least_rounding_tail(), for a sum of errors with
// this deviation.
double least_s(double deviation, double kappa, bool coarse) {
  const double budget = kappa * kappa / 2;
  const double factor = coarse ? 0 : log_factor(kappa * kappa, budget);
  return std::sqrt(2 * (budget + factor)) / deviation;
}

// Element i counts the ulps that are 2^-i times the largest one. Smaller ulps than these do not
// matter.
constexpr int kOctaves = 48;
using UlpCounts = std::array<double, kOctaves>;

}  // namespace

RoundingTail rounding_tail(const Format& format, std::span<const double> values, double kappa,
                           bool coarse, double enough) {
  if (values.empty()) return {};
  // Reads the exponent field of float64 values. Subnormals and zeros of `format` count with the
  // exponent of its smallest normal number.
  const int least = std::ilogb(min_normal(format)) + 1023;
  const auto exponent = [least](double v) {
    return std::max(static_cast<int>((std::bit_cast<std::uint64_t>(v) >> 52) & 0x7ff), least);
  };
  int top = least, bottom = 2046;
  for (const double v : values) {
    top = std::max(top, exponent(v));
    bottom = std::min(bottom, exponent(v));
  }
  UlpCounts counts{};
  for (const double v : values) {
    const int octave = top - exponent(v);
    if (octave < kOctaves) ++counts[static_cast<std::size_t>(octave)];
  }
  const int used = std::min(top - bottom + 1, kOctaves);
  // From here on, numbers are in units of the largest half ulp.
  double largest = 0, square = 0;
  double h = 1;
  for (int i = 0; i < used; ++i, h /= 2) {
    largest += counts[static_cast<std::size_t>(i)] * h;
    square += counts[static_cast<std::size_t>(i)] * h * h;
  }
  const double budget = kappa * kappa / 2;
  const auto sum_at = [&](double s) {
    Cumulant sum{0, 0, 0};
    Logarithms logs;
    double size = 1;
    for (int i = 0; i < used; ++i, size /= 2) {
      const double count = counts[static_cast<std::size_t>(i)];
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
  };
  // Newton's method for log s. It starts from a value that is too small: that of a normal
  // distribution with the same variance and its own divisor. The slope of the factor is estimated
  // from its last change. The cumulants of bounded errors end at s q = sum h, which few errors
  // reach. q has its minimum in s there, so its error is of the order of the square of the last
  // change.
  constexpr double kMost = 1e12;
  constexpr int kSteps = 60;
  double s = least_s(std::sqrt(square / (coarse ? 2 : 3)), kappa, coarse), factor_slope = 0;
  const int unit = top - 1023 - format.mantissa_bits() - 1;
  Cumulant k = sum_at(s);
  if (const double low = (k.value + k.rest) / s; low >= std::ldexp(enough, -unit)) {
    return {std::ldexp(low, unit), 0};
  }
  double factor = coarse ? 0 : log_factor(s * s * k.second, budget);
  for (int step = 0; step < kSteps && s < kMost; ++step) {
    const double slope = s * s * k.second - factor_slope;
    if (!(slope > 0)) break;
    const double change = std::clamp((budget + factor - k.rest) / slope, -1.0, 1.0);
    s *= portable::exp(change);
    k = sum_at(s);
    const double last = factor;
    factor = coarse ? 0 : log_factor(s * s * k.second, budget);
    if (std::abs(change) < 1e-4) break;
    factor_slope = std::min((factor - last) / change, 0.0);
  }
  const double tail = std::min((k.value + budget + factor) / s, largest);
  return {std::ldexp(tail, unit), std::ldexp(s, -unit)};
}

double least_rounding_tail(double deviation, double largest, double kappa, bool coarse) {
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

}  // namespace assay::abft
