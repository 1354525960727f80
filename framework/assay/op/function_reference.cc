#include "assay/op/function_reference.h"

#include <cmath>
#include <limits>

namespace assay {
namespace {

using Real = long double;
static_assert(std::numeric_limits<Real>::digits >= 64,
              "golden results need a long double of 64 bits or more");

constexpr Real kPi = 3.14159265358979323846264338327950288L;
constexpr double kInf = std::numeric_limits<double>::infinity();

double to_float64(Real value) { return static_cast<double>(value); }

}  // namespace

// x Phi(x) = x / 2 erfc(-x / sqrt(2)).
double gelu_reference(double x) {
  if (x == -kInf) return -0.0;
  const Real root = std::sqrt(Real{0.5});
  const Real z = -static_cast<Real>(x) * root;
  if (!std::isfinite(z)) return to_float64(static_cast<Real>(x));
  // erfc magnifies a relative error of z by 2 z^2, so that what z has lost is made good: its own
  // rounding, and that of the root.
  const Real root_rest = std::fma(-root, root, Real{0.5}) / (2 * root);
  const Real lost = std::fma(-static_cast<Real>(x), root, -z) - static_cast<Real>(x) * root_rest;
  const Real tail = std::erfc(z) - 2 / std::sqrt(kPi) * std::exp(-z * z) * lost;
  return to_float64(static_cast<Real>(x) / 2 * tail);
}

// x / 2 (1 + tanh u) = x / (1 + exp(-2 u)), without cancellation.
double gelu_tanh_reference(double x) {
  if (x == -kInf) return -0.0;
  const Real v = x;
  const Real twice = std::sqrt(8 / kPi) * (v + 0.044715L * v * v * v);
  return to_float64(v / (1 + std::exp(-twice)));
}

double exp_reference(double x) { return to_float64(std::exp(static_cast<Real>(x))); }
double log_reference(double x) { return to_float64(std::log(static_cast<Real>(x))); }
double sqrt_reference(double x) { return std::sqrt(x); }
double rsqrt_reference(double x) { return to_float64(1 / std::sqrt(static_cast<Real>(x))); }
double tanh_reference(double x) { return to_float64(std::tanh(static_cast<Real>(x))); }
double sigmoid_reference(double x) { return to_float64(1 / (1 + std::exp(-static_cast<Real>(x)))); }
double silu_reference(double x) {
  if (x == -kInf) return -0.0;
  return to_float64(x / (1 + std::exp(-static_cast<Real>(x))));
}

}  // namespace assay
