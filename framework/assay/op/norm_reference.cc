#include "assay/op/norm_reference.h"

#include <cmath>
#include <limits>
#include <vector>

#include "assay/op/order.h"

namespace assay {
namespace {

using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64,
              "golden results need a long double of 64 bits or more");

// A sum and the rounding errors of its additions (Knuth's TwoSum; Ogita, Rump and Oishi, SIAM J.
// Sci. Comput. 26(6), 2005, Sum2).
struct Sum {
  Real value = 0, errors = 0;

  void add(Real x) {
    const Real sum = value + x, part = sum - value;
    errors += (value - (sum - part)) + (x - part);
    value = sum;
  }
  // NaN and infinity as plain sums have them.
  Real total() const { return std::isfinite(value) ? value + errors : value; }
};

void softmax(std::int64_t n, double* x) {
  double most = x[0];
  for (std::int64_t i = 1; i < n; ++i) most = x[i] > most || std::isnan(x[i]) ? x[i] : most;
  std::vector<Real> terms(static_cast<std::size_t>(n));
  Sum sum;
  for (std::int64_t i = 0; i < n; ++i) {
    Real& term = terms[static_cast<std::size_t>(i)];
    term = std::exp(static_cast<Real>(x[i]) - static_cast<Real>(most));
    sum.add(term);
  }
  const Real total = sum.total();
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = static_cast<double>(terms[static_cast<std::size_t>(i)] / total);
  }
}

// x less its mean, where asked, over the root of the mean square of that, times weight, plus bias.
void normalise(const Norm& norm, const std::vector<double>& weight, const std::vector<double>& bias,
               double* x) {
  const auto n = static_cast<std::size_t>(norm.e.n);
  const Real count = static_cast<Real>(n);
  Real mean = 0, rest = 0;  // of the mean, in two parts: x - mean may cancel
  if (norm.subtracts_mean()) {
    Sum sum;
    for (std::size_t i = 0; i < n; ++i) sum.add(x[i]);
    mean = sum.total() / count;
    if (std::isfinite(mean)) rest = (std::fma(-mean, count, sum.value) + sum.errors) / count;
  }
  Sum squares;
  std::vector<Real> centred(n);
  for (std::size_t i = 0; i < n; ++i) {
    centred[i] = (static_cast<Real>(x[i]) - mean) - rest;
    squares.add(centred[i] * centred[i]);
  }
  const Real root = std::sqrt(squares.total() / count + static_cast<Real>(norm.eps));
  for (std::size_t i = 0; i < n; ++i) {
    Real y = centred[i] / root;
    if (!weight.empty()) y *= weight[i];
    if (!bias.empty()) y += bias[i];
    x[i] = static_cast<double>(y);
  }
}

}  // namespace

Tensor norm_reference(const ReferenceCall& call, NormKind kind) {
  const Case& c = call.test_case;
  const Norm norm = norm_of(c, kind, call.output);
  (void)asked_order(c);  // refuses a block size that is none
  Tensor result(call.output, c.input("x").shape());
  const std::vector<double> weight = norm.vector<double>("weight", norm.has_weight),
                            bias = norm.vector<double>("bias", norm.has_bias);
  each_row<double>(c, norm.e, overflow_of(c), 0, call.threads, result, [&](double* row, double*) {
    if (norm.is_softmax())
      softmax(norm.e.n, row);
    else
      normalise(norm, weight, bias, row);
  });
  return result;
}

}  // namespace assay
