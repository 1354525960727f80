#include "assay/op/norm_errors.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/function_error.h"
#include "assay/op/along_axis.h"

namespace assay::inline v0_2 {
namespace {

double square(double x) { return x * x; }

// An element of a result, and the part of its variance that all elements of its row share.
struct RowElement {
  Uncertain number;
  double shared = 0;

  // Multiplies the element by an exact number. Does not include the rounding of the product.
  void times(double factor) {
    number.value *= factor;
    number.grid = -Uncertain::kAnyGrid;
    number.mean *= factor;
    number.variance *= square(factor);
    shared *= square(factor);
  }
};

// Returns the variance of a library function's relative error if no machine is named.
double function_variance(const ChanceUnit& unit, const char* function) {
  return square(largest_function_error(function, *unit.after)) / 3;
}
// Returns the variance of rounding a number of size 1 to a format, whatever its digits are.
double rounding_variance(const Format& f) { return square(unit_roundoff(f)) / 3; }

// A row, with memory for the numbers that are computed from it.
struct Row {
  std::span<const double> x;
  std::vector<Uncertain> numbers, summed;
};

// Computes the expected errors of softmax, exp(x - max) / sum: the mean and the variance of each
// element's error. These are not bounds. A term's own relative error counts only with the factor
// 1 - share, where share is the term's part of the sum, because the sum has that error as well.
// x is finite or -infinity. If no machine is named, the variances also cover an exponential with
// another base, and a running maximum that rescales the terms and their sum by rounded factors.
// Calls take(i, element) for each element of the row, as the functions below do.
template <typename Take>
void softmax(const ChanceUnit& unit, Row& of, const Take& take) {
  const RoundingStep step(*unit.unit);
  const double most = *std::ranges::max_element(of.x);
  if (most == -kInfinity) {
    for (std::size_t i = 0; i < of.x.size(); ++i) take(i, RowElement{});
    return;
  }
  const double rounding = rounding_variance(*unit.unit), least = min_subnormal(*unit.unit),
               of_exp = unit.any_order ? function_variance(unit, "exp") : 0;
  std::vector<Uncertain>& terms = of.numbers;
  terms.clear();
  double depths = 0;
  for (const double v : of.x) {
    if (v == -kInfinity) {
      terms.emplace_back();  // exactly 0
      continue;
    }
    Uncertain below = Uncertain::exact(v);
    below.add(Uncertain::exact(-most));
    below.round(step);
    if (unit.any_order) below.variance += 3 * rounding * square(below.value);
    Uncertain term = Uncertain::inexact(std::exp(below.value));
    depths += term.value * std::abs(below.value);
    term.variance = square(term.value) * below.variance;
    if (below.value == 0)
      term.grid = 0;  // exp(0) = 1
    else
      term.round(step);
    if (unit.any_order) term.variance += square(term.value) * of_exp + square(least);
    terms.push_back(term);
  }
  Uncertain sum = unit.sum(terms);
  if (unit.any_order) {
    // log2(e) in float32 has a relative error of about a quarter of the unit roundoff, the same for
    // all terms. Half of the unit roundoff is counted.
    sum.variance += square(sum.value) * (of_exp + 2 * rounding) +
                    square(depths * unit_roundoff(*unit.unit) / 2);
  }
  const double inverse = 1 / sum.value, of_sum = square(inverse) * sum.variance;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Uncertain& term = terms[i];
    RowElement element;
    const double value = term.value * inverse;
    element.number = Uncertain::inexact(value);
    element.shared = square(value) * of_sum;
    element.number.mean = term.mean * inverse;
    element.number.variance =
        term.variance * square(inverse) * std::max(1 - 2 * value, 0.0) + element.shared;
    if (unit.any_order) element.number.variance += 3 * rounding * square(value);
    take(i, element);
  }
}

// Computes the expected errors (mean and variance, not bounds) of layernorm and rmsnorm without a
// machine. They cover every form that correct kernels compute, with the weight w and the bias b:
//
//   the result as ((x - m) f) w + b, or as x (f w) + (b - m f w), which rounds x f w and m f w
//   the mean m by a sum in any order times a rounded 1 / n, or updated with every element
//   the mean square q by two passes, or as mean x^2 - m^2 for a row if this costs few digits
//   the factor f = rsqrt(q), or 1 / sqrt(q)
//
// An error of the mean moves all elements, and changes q by its square.
template <typename Take>
void normalised_in_any_order(const Norm& norm, const ChanceUnit& unit, Row& of,
                             const std::vector<double>& weight, const std::vector<double>& bias,
                             const Take& take) {
  // Computing mean x^2 - m^2 in one pass is accurate enough up to this ratio (var x + m^2) / var x.
  constexpr double kMostLoss = 17;
  const std::span<const double> x = of.x;
  const auto n = static_cast<double>(x.size());
  const double rounding = rounding_variance(*unit.after);
  ChanceUnit wide = unit;  // of squares
  wide.unit = unit.after;
  const auto sum_of = [&](const ChanceUnit& by, const auto& values) {
    of.summed.clear();
    for (const double v : values) of.summed.push_back(Uncertain::inexact(v));
    Uncertain sum = by.sum(of.summed);
    sum.divide_by(n);
    sum.variance += 2 * rounding * square(sum.value);
    return sum;
  };
  const Uncertain mean = norm.subtracts_mean() ? sum_of(unit, x) : Uncertain{};
  std::vector<double> squares;
  for (const double v : x) squares.push_back(square(v - mean.value));
  Uncertain root = sum_of(wide, squares);
  const double var = root.value;
  // Each difference and each square is rounded.
  for (const double v : squares) root.variance += 5 * rounding * square(v / n);
  if (norm.subtracts_mean()) {
    const double loss = (var + square(mean.value)) / var;
    if (loss <= kMostLoss) root.variance *= square(loss);
  }
  const double eps = round_to(*unit.after, norm.eps);
  root.value += eps;
  root.mean += eps - norm.eps;
  root.variance += rounding * square(root.value);
  const double f = 1 / std::sqrt(root.value), slope = -f * f * f / 2;
  if (!std::isfinite(f)) {
    for (std::size_t i = 0; i < x.size(); ++i) take(i, RowElement{});
    return;
  }
  const double moved = std::min(3 * mean.variance * f * f, 1.0) * f;
  const double of_factor = square(slope) * root.variance + square(slope * root.mean) +
                           square(moved) +
                           square(f) * (function_variance(unit, "rsqrt") + 2 * rounding);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i], b = bias.empty() ? 0 : bias[i];
    const double d = x[i] - mean.value, y = d * f * w, shift = mean.value * f * w;
    RowElement element{.number = Uncertain::inexact(y + b),
                       .shared = square(f * w) * mean.variance + square(d * w) * of_factor};
    double own = 4 * square(y);
    if (norm.subtracts_mean()) {
      own += square(x[i] * f * w) + square(std::abs(b) + std::abs(shift));
      element.shared += rounding * square(shift);
    }
    element.number.variance = element.shared + rounding * own;
    take(i, element);
  }
}

// Computes the expected errors of layernorm and rmsnorm on a machine, up to the product with the
// reciprocal root, before weight and bias.
template <typename Take>
void normalised(const Norm& norm, const ChanceUnit& unit, Row& of, const Take& take) {
  const RoundingStep after(*unit.after);
  ChanceUnit wide = unit;  // of squares
  wide.unit = unit.after;
  const auto n = static_cast<double>(of.x.size());
  std::vector<Uncertain>&centred = of.numbers, &squares = of.summed;
  double of_mean = 0;  // variance of the mean's error, which all elements of a row share
  Uncertain mean;
  if (norm.subtracts_mean()) {
    mean = unit.sum_of_exact(of.x);
    mean.divide_by(n);
    mean.round(after);
    of_mean = mean.variance;
  }
  centred.clear();
  squares.clear();
  for (const double v : of.x) {
    Uncertain d = Uncertain::exact(v);
    if (norm.subtracts_mean()) {
      Uncertain less = mean;
      less.value = -less.value;
      // The part that all elements of a row share is added below.
      less.mean = less.variance = 0;
      d.add(less);
      d.round(after);
    }
    centred.push_back(d);
    Uncertain power = Uncertain::product(d, d);
    power.variance = 4 * square(d.value) * d.variance;
    power.round(after);
    squares.push_back(power);
  }
  Uncertain root = wide.sum(squares);
  root.divide_by(n);
  root.round(after);
  const double eps = round_to(*unit.after, norm.eps);
  root.add(Uncertain::exact(eps));
  root.mean += eps - norm.eps;
  root.round(after);
  Uncertain factor = Uncertain::inexact(1 / std::sqrt(root.value));
  const double slope = -factor.value * factor.value * factor.value / 2;
  factor.mean = slope * root.mean;
  factor.variance = square(slope) * root.variance;
  factor.round(after);
  for (std::size_t i = 0; i < centred.size(); ++i) {
    const Uncertain& d = centred[i];
    RowElement element{.number = Uncertain::inexact(d.value * factor.value)};
    element.number.mean = d.value * factor.mean + factor.value * d.mean;
    element.shared = square(factor.value) * of_mean + square(d.value) * factor.variance;
    element.number.variance = square(factor.value) * d.variance + element.shared;
    take(i, element);
  }
}

}  // namespace

ExpectedErrors norm_errors(const Case& c, const Machine& machine, NormKind kind, int threads) {
  const Format& output = output_format(c);
  const Norm norm = norm_of(c, kind, output);
  const ChanceUnit unit = chance_unit(c, machine, norm.input);
  const RoundingStep after(*unit.after);
  const bool is_rounded_last = unit.after == &output;
  const std::vector<double> weight = finite_or_zero(norm.vector<double>("weight", norm.has_weight)),
                            bias = finite_or_zero(norm.vector<double>("bias", norm.has_bias));
  const auto n = static_cast<std::size_t>(c.input("x").size());
  ExpectedErrors errors{.last = &output, .at_most = unit.any_order};
  errors.resize(n);
  errors.shared.resize(n);
  errors.line.resize(n);
  if (n == 0) return errors;
  struct Scratch {
    std::vector<double> x;
    Row row;
  };
  for_lines<Scratch>(c.input("x"), norm.e, threads, [&](Scratch& scratch, const LineAlong& line) {
    scratch.x.assign(line.values.begin(), line.values.end());
    for (double& v : scratch.x) {
      const bool masked = norm.is_softmax() && v == -kInfinity;
      if (!std::isfinite(v) && !masked) v = 0;
    }
    scratch.row.x = scratch.x;
    const auto set = [&](std::size_t i, const RowElement& element) {
      const std::size_t position = line.position(i);
      set_error(errors, position, element.number);
      errors.shared[position] = element.shared;
      errors.line[position] = static_cast<std::int32_t>(line.index);
    };
    const auto set_rounded = [&](std::size_t i, RowElement element) {
      if (!weight.empty()) {
        element.number.round(after);
        element.times(weight[i]);
      }
      if (!bias.empty()) {
        element.number.round(after);
        element.number.add(Uncertain::exact(bias[i]));
      }
      if (!is_rounded_last) element.number.round(after);
      set(i, element);
    };
    if (norm.is_softmax()) {
      softmax(unit, scratch.row, set_rounded);
    } else if (unit.any_order) {  // this way also applies weight and bias
      normalised_in_any_order(norm, unit, scratch.row, weight, bias,
                              [&](std::size_t i, RowElement e) {
                                if (!is_rounded_last) e.number.round(after);
                                set(i, e);
                              });
    } else {
      normalised(norm, unit, scratch.row, set_rounded);
    }
  });
  return errors;
}

}  // namespace assay
