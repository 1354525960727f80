#include "assay/machine/functions.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "assay/base/constants.h"
#include "assay/simd/function_terms.h"

namespace assay::inline v0_2 {
namespace {

using simd::kWholeMagic;

template <std::size_t kCount>
double polynomial(double x, const double (&terms)[kCount]) {
  double sum = terms[kCount - 1];
  for (std::size_t i = kCount - 1; i-- > 0;) sum = std::fma(sum, x, terms[i]);
  return sum;
}

double whole(double x) { return (x + kWholeMagic) - kWholeMagic; }

double power_of_two(double k) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(k + (kWholeMagic + 1023)) << 52);
}

// The parts k and p of exp(x) = 2^k (1 + p).
struct Reduced {
  double k, p;
};
Reduced reduce_exp(double x) {
  const double k = whole(x * simd::kLog2E);
  const double high = x - k * simd::kLn2High, low = k * simd::kLn2Low;
  const double r = high - low, rest = (high - r) - low;
  return {k, r + (r * r * polynomial(r, simd::kExpTerms) + rest)};
}

}  // namespace

double exp_float64(double x) {
  if (std::isnan(x)) return x;
  const Reduced reduced = reduce_exp(std::clamp(x, -750.0, 710.0));
  const double half = whole(reduced.k * 0.5);
  return (1 + reduced.p) * power_of_two(half) * power_of_two(reduced.k - half);
}

double log_float64(double x) {
  if (!(x >= 0)) return kNan;
  if (x == 0) return -kInfinity;
  if (x == kInfinity) return x;
  const bool tiny = x < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(tiny ? x * 0x1p54 : x);
  constexpr std::uint64_t kOne = std::uint64_t{1023} << 52;
  const std::uint64_t field = (bits + (kOne - simd::kSqrtHalfBits)) >> 52;
  const double f = std::bit_cast<double>(bits - ((field << 52) - kOne)) - 1;
  const double k = static_cast<double>(field) - 1023 - (tiny ? 54 : 0);
  const double s = f / (2 + f), z = s * s;
  const double series = z * polynomial(z, simd::kLogTerms);
  const double square = 0.5 * f * f;
  const double part = s * (square + series) + k * simd::kLn2Low;
  return k * simd::kLn2High - ((square - part) - f);
}

double rsqrt_float64(double x) { return 1 / std::sqrt(x); }

double tanh_float64(double x) {
  if (std::isnan(x)) return x;
  const Reduced reduced = reduce_exp(std::min(std::abs(x), 22.0) * -2);
  const double scale = power_of_two(reduced.k);
  const double below = (scale - 1) + scale * reduced.p;
  return std::copysign(-below / (2 + below), x);
}

double erf_float64(double x) {
  if (std::isnan(x)) return x;
  const double a = std::min(std::abs(x), 6.0), square = a * a;
  if (a < 1) return std::copysign(a + a * polynomial(square, simd::kErfTerms), x);
  const double t = (a - 3) / (a + 3);
  return std::copysign(1 - exp_float64(-square) * polynomial(t, simd::kErfcTerms), x);
}

}  // namespace assay
