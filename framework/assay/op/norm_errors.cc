#include "assay/op/norm_errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/function_error.h"

namespace assay {
namespace {

double square(double x) { return x * x; }

// An element of a result, and the part of its variance that its row shares.
struct RowElement {
  Uncertain number;
  double shared = 0;

  // Times an exact number, rounded or not.
  void times(double factor) {
    number.value *= factor;
    number.grid = -Uncertain::kAnyGrid;
    number.mean *= factor;
    number.variance *= square(factor);
    shared *= square(factor);
  }
};

// The square of what a function may be off by without a machine, relative to its result.
double function_variance(const ChanceUnit& unit, const char* function) {
  return square(largest_function_error(function, *unit.after)) / 3;
}
// The variance of a rounding to a format of a number of size 1, whatever its digits.
double rounding_variance(const Format& f) { return square(unit_roundoff(f)) / 3; }

// exp(x - max) / sum: a term's relative error of its own counts 1 - share of it, for it is in the
// sum as well. x is finite or -infinity. Without a machine the exponential may be that of another
// base, and a running maximum may rescale the terms and their sum, by factors that round.
std::vector<RowElement> softmax(const ChanceUnit& unit, const std::vector<double>& x) {
  const RoundingStep step(*unit.unit);
  const double most = *std::max_element(x.begin(), x.end());
  if (most == -kInfinity) return std::vector<RowElement>(x.size());
  const double rounding = rounding_variance(*unit.unit),
               of_exp = unit.any_order ? function_variance(unit, "exp") : 0;
  std::vector<Uncertain> terms;
  double depths = 0;
  for (const double v : x) {
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
    if (unit.any_order) {
      term.variance += square(term.value) * of_exp + square(min_subnormal(*unit.unit));
    }
    terms.push_back(term);
  }
  Uncertain sum = unit.sum(terms);
  if (unit.any_order) {
    // log2(e) in float32 is off by a quarter of the unit roundoff, for all terms alike.
    sum.variance += square(sum.value) * (of_exp + 2 * rounding) +
                    square(depths * unit_roundoff(*unit.unit) / 2);
  }
  std::vector<RowElement> row;
  for (const Uncertain& term : terms) {
    RowElement element;
    const double value = term.value / sum.value;
    element.number = Uncertain::inexact(value);
    element.shared = square(value / sum.value) * sum.variance;
    element.number.mean = term.mean / sum.value;
    element.number.variance =
        term.variance / square(sum.value) * std::max(1 - 2 * value, 0.0) + element.shared;
    if (unit.any_order) element.number.variance += 3 * rounding * square(value);
    row.push_back(element);
  }
  return row;
}

// layernorm and rmsnorm without a machine: every form that right kernels compute.
//
//   ((x - m) f) w + b, and x (f w) + (b - m f w), which rounds x f w and m f w
//   m by a sum in any order, or updated with every element; the sum times a rounded 1 / n
//   q by two passes, or as mean x^2 - m^2 of a row where that costs few digits
//   f = rsqrt(q), or 1 / sqrt(q)
//
// An error of the mean moves all elements, and q by its square.
std::vector<RowElement> normalised_in_any_order(const Norm& norm, const ChanceUnit& unit,
                                                const std::vector<double>& x,
                                                const std::vector<double>& weight,
                                                const std::vector<double>& bias) {
  constexpr double kMostLoss = 17;  // (var x + m^2) / var x that one pass is right for
  const auto n = static_cast<double>(x.size());
  const double rounding = rounding_variance(*unit.after);
  ChanceUnit wide = unit;  // of squares
  wide.unit = unit.after;
  const auto sum_of = [&](const ChanceUnit& by, const std::vector<double>& values) {
    std::vector<Uncertain> terms;
    for (const double v : values) terms.push_back(Uncertain::inexact(v));
    Uncertain sum = by.sum(std::move(terms));
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
  if (!std::isfinite(f)) return std::vector<RowElement>(x.size());
  const double moved = std::min(3 * mean.variance * f * f, 1.0) * f;
  const double of_factor = square(slope) * root.variance + square(slope * root.mean) +
                           square(moved) +
                           square(f) * (function_variance(unit, "rsqrt") + 2 * rounding);
  std::vector<RowElement> row;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i], b = bias.empty() ? 0 : bias[i];
    const double d = x[i] - mean.value, y = d * f * w, shift = mean.value * f * w;
    RowElement element;
    element.number = Uncertain::inexact(y + b);
    element.shared = square(f * w) * mean.variance + square(d * w) * of_factor;
    double own = 4 * square(y);
    if (norm.subtracts_mean()) {
      own += square(x[i] * f * w) + square(std::abs(b) + std::abs(shift));
      element.shared += rounding * square(shift);
    }
    element.number.variance = element.shared + rounding * own;
    row.push_back(element);
  }
  return row;
}

// layernorm and rmsnorm up to the product with the root.
std::vector<RowElement> normalised(const Norm& norm, const ChanceUnit& unit,
                                   const std::vector<double>& x) {
  const RoundingStep after(*unit.after);
  ChanceUnit wide = unit;  // of squares
  wide.unit = unit.after;
  const auto n = static_cast<double>(x.size());
  std::vector<Uncertain> centred, squares;
  double of_mean = 0;  // variance that all of a row share
  Uncertain mean;
  if (norm.subtracts_mean()) {
    std::vector<Uncertain> terms;
    for (const double v : x) terms.push_back(Uncertain::exact(v));
    mean = unit.sum(terms);
    mean.divide_by(n);
    mean.round(after);
    of_mean = mean.variance;
  }
  for (const double v : x) {
    Uncertain d = Uncertain::exact(v);
    if (norm.subtracts_mean()) {
      Uncertain less = mean;
      less.value = -less.value;
      less.mean = less.variance = 0;  // what all of a row share comes in below
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
  std::vector<RowElement> row;
  for (const Uncertain& d : centred) {
    RowElement element;
    element.number = Uncertain::inexact(d.value * factor.value);
    element.number.mean = d.value * factor.mean + factor.value * d.mean;
    element.shared = square(factor.value) * of_mean + square(d.value) * factor.variance;
    element.number.variance = square(factor.value) * d.variance + element.shared;
    row.push_back(element);
  }
  return row;
}

}  // namespace

ExpectedErrors norm_errors(const Case& c, const Machine& machine, NormKind kind) {
  const Format& output = c.output_format();
  const Norm norm = norm_of(c, kind, output);
  const ChanceUnit unit = chance_unit(c, machine, norm.input);
  const RoundingStep after(*unit.after);
  std::vector<double> x = c.input("x").view().values();
  for (double& v : x) {
    const bool masked = norm.is_softmax() && v == -kInfinity;
    if (!std::isfinite(v) && !masked) v = 0;
  }
  const std::vector<double> weight = finite_or_zero(norm.vector<double>("weight", norm.has_weight)),
                            bias = finite_or_zero(norm.vector<double>("bias", norm.has_bias));
  ExpectedErrors errors;
  errors.last = &output;
  errors.at_most = unit.any_order;
  errors.resize(x.size());
  errors.shared.resize(x.size());
  errors.line.resize(x.size());
  const AxisExtent& e = norm.e;
  std::vector<double> values(static_cast<std::size_t>(e.n));
  for (std::int64_t line = 0; line < e.outer * e.inner; ++line) {
    const auto position = [&](std::size_t i) {
      return static_cast<std::size_t>(line / e.inner * e.n * e.inner + line % e.inner +
                                      static_cast<std::int64_t>(i) * e.inner);
    };
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = x[position(i)];
    const bool is_done = unit.any_order && !norm.is_softmax();  // with weight and bias
    std::vector<RowElement> row = is_done
                                      ? normalised_in_any_order(norm, unit, values, weight, bias)
                                  : norm.is_softmax() ? softmax(unit, values)
                                                      : normalised(norm, unit, values);
    for (std::size_t i = 0; i < row.size(); ++i) {
      RowElement& element = row[i];
      if (!weight.empty() && !is_done) {
        element.number.round(after);
        element.times(weight[i]);
      }
      if (!bias.empty() && !is_done) {
        element.number.round(after);
        element.number.add(Uncertain::exact(bias[i]));
      }
      round_before_last(element.number, *unit.after, output);
      errors.set(position(i), element.number);
      errors.shared[position(i)] = element.shared;
      errors.line[position(i)] = static_cast<std::int32_t>(line);
    }
  }
  return errors;
}

}  // namespace assay
