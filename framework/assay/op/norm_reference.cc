#include "assay/op/norm_reference.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/quad.h"
#include "assay/op/order.h"
#include "assay/simd/golden_norms.h"

namespace assay::inline v0_2 {
namespace {

// Functions with one name for both kinds of arithmetic: double-double, and binary128 for values
// outside its range.
DoubleDouble exponential(const DoubleDouble& x) { return exp(x); }
Quad exponential(Quad x) { return quad::exp(x); }
DoubleDouble root(const DoubleDouble& x) { return sqrt(x); }
Quad root(Quad x) { return quad::sqrt(x); }
double rounded(const DoubleDouble& x) { return x.high; }
double rounded(Quad x) { return static_cast<double>(x); }

// True for sizes whose squares, reciprocals and products with each other fit double-double
// arithmetic.
bool has_room(double x) {
  const double size = std::abs(x);
  return x == 0 || (size > 0x1p-200 && size < 0x1p200);
}
bool has_room(std::int64_t n, const double* x) {
  return std::all_of(x, x + n, [](double v) { return has_room(v); });
}

// exp(-kNothing) is below 2^-1154. Its share of a row is 0 in float64, and a sum that is at least 1
// does not change in binary128.
constexpr double kNothing = 800;

template <typename Real>
void softmax_in(std::int64_t n, double most, double* x) {
  std::vector<Real> terms;
  terms.reserve(static_cast<std::size_t>(n));
  Real sum = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Real below = Real{x[i]} - Real{most};
    terms.push_back(most - x[i] > kNothing ? Real{0} : exponential(below));
    sum = sum + terms.back();
  }
  for (std::int64_t i = 0; i < n; ++i) x[i] = rounded(terms[static_cast<std::size_t>(i)] / sum);
}

// The quick ways to compute a row. Each returns true if it settled the rounding of the whole row.
// `scratch` has space for two more rows.
bool quick_softmax(std::int64_t n, double* x, double* scratch) {
  if (!simd::golden_softmax(static_cast<std::size_t>(n), x, scratch, scratch + n)) return false;
  std::copy_n(scratch, n, x);
  return true;
}
bool quick_normalise(const Norm& norm, const std::vector<double>& weight,
                     const std::vector<double>& bias, double* x, double* scratch) {
  const auto given = [](const std::vector<double>& v) { return v.empty() ? nullptr : v.data(); };
  if (!simd::golden_normalise({norm.eps, norm.subtracts_mean(), given(weight), given(bias)},
                              static_cast<std::size_t>(norm.e.n), x, scratch)) {
    return false;
  }
  std::copy_n(scratch, norm.e.n, x);
  return true;
}

void softmax(std::int64_t n, double* x) {
  constexpr double kRange = 600;  // range of exp in double-double arithmetic
  double most = x[0];
  for (std::int64_t i = 1; i < n; ++i) most = x[i] > most || std::isnan(x[i]) ? x[i] : most;
  const bool room = std::isfinite(most) && std::all_of(x, x + n, [most](double v) {
                      return most - v < kRange || most - v > kNothing;
                    });
  room ? softmax_in<DoubleDouble>(n, most, x) : softmax_in<Quad>(n, most, x);
}

// Normalises a row: subtracts the mean from x if the operator does, divides by the root of the mean
// square of the result, multiplies by weight, and adds bias.
template <typename Real>
void normalise_in(const Norm& norm, const std::vector<double>& weight,
                  const std::vector<double>& bias, double* x) {
  const auto n = static_cast<std::size_t>(norm.e.n);
  const Real count = static_cast<double>(n);
  Real mean = 0;
  if (norm.subtracts_mean()) {
    for (std::size_t i = 0; i < n; ++i) mean = mean + Real{x[i]};
    mean = mean / count;
  }
  std::vector<Real> centred(n, Real{0});
  Real squares = 0;
  for (std::size_t i = 0; i < n; ++i) {
    centred[i] = Real{x[i]} - mean;
    squares = squares + centred[i] * centred[i];
  }
  const Real length = root(squares / count + Real{norm.eps});
  for (std::size_t i = 0; i < n; ++i) {
    Real y = centred[i] / length;
    if (!weight.empty()) y = y * Real{weight[i]};
    if (!bias.empty()) y = y + Real{bias[i]};
    x[i] = rounded(y);
  }
}

}  // namespace

Tensor norm_reference(const ReferenceCall& call, NormKind kind) {
  const Case& c = call.test_case;
  const Norm norm = norm_of(c, kind, call.output);
  (void)asked_order(c);  // throws if the block size is invalid
  Tensor result(call.output, c.input("x").shape());
  const std::vector<double> weight = norm.vector<double>("weight", norm.has_weight),
                            bias = norm.vector<double>("bias", norm.has_bias);
  const auto all = [](const std::vector<double>& v) { return has_room(std::ssize(v), v.data()); };
  const bool parameters_have_room = has_room(norm.eps) && all(weight) && all(bias);
  const auto body = [&](double* row, double* scratch) {
    if (norm.is_softmax()) {
      if (!quick_softmax(norm.e.n, row, scratch)) softmax(norm.e.n, row);
    } else if (!parameters_have_room) {
      normalise_in<Quad>(norm, weight, bias, row);
    } else if (!quick_normalise(norm, weight, bias, row, scratch)) {
      if (has_room(norm.e.n, row))
        normalise_in<DoubleDouble>(norm, weight, bias, row);
      else
        normalise_in<Quad>(norm, weight, bias, row);
    }
  };
  each_row<double>(c, norm.e, overflow_of(c), 2, call.threads, result, body);
  return result;
}

}  // namespace assay
