#include "assay/op/norm_errors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/op/accumulation.h"

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

// exp(x - max) / sum: a term's relative error of its own counts 1 - share of it, for it is in the
// sum as well.
std::vector<RowElement> softmax(const ChanceUnit& unit, const std::vector<double>& x) {
  const RoundingStep step(*unit.unit);
  const double most = *std::max_element(x.begin(), x.end());
  std::vector<Uncertain> terms;
  for (const double v : x) {
    Uncertain below = Uncertain::exact(v);
    below.add(Uncertain::exact(-most));
    below.round(step);
    Uncertain term = Uncertain::inexact(std::exp(below.value));
    term.variance = square(term.value) * below.variance;
    if (below.value == 0)
      term.grid = 0;  // exp(0) = 1
    else
      term.round(step);
    terms.push_back(term);
  }
  const Uncertain sum = unit.sum(terms);
  std::vector<RowElement> row;
  for (const Uncertain& term : terms) {
    RowElement element;
    const double value = term.value / sum.value;
    element.number = Uncertain::inexact(value);
    element.shared = square(value / sum.value) * sum.variance;
    element.number.mean = term.mean / sum.value;
    element.number.variance =
        term.variance / square(sum.value) * std::max(1 - 2 * value, 0.0) + element.shared;
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
  const std::vector<double> x = finite_values(c, "x", c.input("x").view());
  const std::vector<double> weight = norm.vector<double>("weight", norm.has_weight),
                            bias = norm.vector<double>("bias", norm.has_bias);
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
    std::vector<RowElement> row =
        norm.is_softmax() ? softmax(unit, values) : normalised(norm, unit, values);
    for (std::size_t i = 0; i < row.size(); ++i) {
      RowElement& element = row[i];
      if (!weight.empty()) {
        element.number.round(after);
        element.times(weight[i]);
      }
      if (!bias.empty()) {
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
