#include "assay/op/function_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/quad.h"

namespace assay::inline v0_2 {
namespace {

// The three numbers add up to pi with more than the precision of binary128.
constexpr double kPi[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};

double to_float64(Quad value) { return static_cast<double>(value); }

// True if exp(x), and the values computed from it, are in the range of double-double arithmetic.
bool has_room_for_exp(double x) { return std::abs(x) < 600; }
// True if products of x and its reciprocal are in the range of double-double arithmetic.
bool is_moderate(double x) { return x > 0x1p-400 && x < 0x1p400; }

// The reference functions, in the order of simd::GoldenFunction.
constexpr double (*kReferences[])(double) = {exp_reference,   log_reference,  sqrt_reference,
                                             rsqrt_reference, tanh_reference, sigmoid_reference,
                                             silu_reference,  gelu_reference, gelu_tanh_reference};

}  // namespace

void function_references(simd::GoldenFunction function, std::size_t n, double* values) {
  constexpr std::size_t kBlock = 1024;
  std::uint32_t left[kBlock];
  for (std::size_t begin = 0; begin < n; begin += kBlock) {
    double* block = values + begin;
    const std::size_t count =
        simd::golden_function(function, std::min(kBlock, n - begin), block, left);
    for (std::size_t i = 0; i < count; ++i) {
      block[left[i]] = kReferences[static_cast<std::size_t>(function)](block[left[i]]);
    }
  }
}

// Computes x Phi(x) = x / 2 erfc(-x / sqrt(2)). erfc magnifies a relative error of its argument z
// by 2 z^2, which is below 2^11 if the result is not 0. So about 100 of the 113 bits of binary128
// are right.
double gelu_reference(double x) {
  if (x == -kInfinity) return -0.0;
  const Quad z = -Quad{x} * quad::sqrt(Quad{0.5});
  return quad::is_finite(z) ? to_float64(Quad{x} / 2 * quad::erfc(z)) : x;
}

// Computes x / 2 (1 + tanh u) as x / (1 + exp(-2 u)), which has no cancellation.
double gelu_tanh_reference(double x) {
  if (x == -kInfinity) return -0.0;
  static const Quad factor = quad::sqrt(8 / (Quad{kPi[0]} + kPi[1] + kPi[2]));
  const Quad v = x, twice = factor * (v + Quad{44715} / 1000000 * v * v * v);
  const auto high = static_cast<double>(twice);
  if (has_room_for_exp(high) && std::abs(x) > 0x1p-400) {
    return (x / (exp({-high, static_cast<double>(high - twice)}) + 1)).high;
  }
  return to_float64(v / (1 + quad::exp(-twice)));
}

double exp_reference(double x) {
  return has_room_for_exp(x) ? exp(x).high : to_float64(quad::exp(x));
}

// Corrects the C library's y = log(x). With off = x exp(-y) - 1, the correction is log(1 + off) to
// second order, off - off^2 / 2. It leaves an error of about a third of off^3.
double log_reference(double x) {
  if (!is_moderate(x) || std::abs(x - 1) < 0x1p-6) return to_float64(quad::log(x));
  const double y = std::log(x);
  const DoubleDouble off = x * exp(-y) - 1;
  return (y + (off - off * off / 2)).high;
}

double sqrt_reference(double x) { return std::sqrt(x); }

double rsqrt_reference(double x) {
  return is_moderate(x) ? (1 / sqrt(DoubleDouble(x))).high : to_float64(1 / quad::sqrt(x));
}

double tanh_reference(double x) { return to_float64(quad::tanh(x)); }

double sigmoid_reference(double x) {
  return has_room_for_exp(x) ? (1 / (exp(-x) + 1)).high : to_float64(1 / (1 + quad::exp(-Quad{x})));
}

double silu_reference(double x) {
  if (x == -kInfinity) return -0.0;
  if (has_room_for_exp(x) && std::abs(x) > 0x1p-400) return (x / (exp(-x) + 1)).high;
  return to_float64(x / (1 + quad::exp(-Quad{x})));
}

}  // namespace assay
