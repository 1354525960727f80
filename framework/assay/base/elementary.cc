#include "assay/base/elementary.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "assay/base/constants.h"

namespace assay::inline v0_2::portable {
namespace {

double power_of_two(int exponent) {  // -1022 to 1023
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// Returns c[0] + c[1] x + ... + c[N - 1] x^(N - 1).
template <int N>
double polynomial(const double (&c)[N], double x) {
  double sum = c[N - 1];
  for (int i = N - 2; i >= 0; --i) sum = sum * x + c[i];
  return sum;
}

// On [-pi/4, pi/4].
double sine(double t) {
  const double z = t * t, w = z * z;
  const double r = kSine[1] + z * (kSine[2] + z * kSine[3]) + z * w * (kSine[4] + z * kSine[5]);
  return t + z * t * (kSine[0] + z * r);
}
double cosine(double t) {
  const double z = t * t, w = z * z;
  const double r = z * (kCosine[0] + z * (kCosine[1] + z * kCosine[2])) +
                   w * w * (kCosine[3] + z * (kCosine[4] + z * kCosine[5]));
  const double half = 0.5 * z, near = 1.0 - half;
  return near + (((1.0 - near) - half) + z * r);
}

// Returns the normal density at x, e^(-x^2 / 2) / sqrt(2 pi). x^2 is split into two parts so that
// the exponential does not magnify its rounding error.
double normal_density(double x) {
  constexpr double kInverseSqrtTwoPi = 0x1.9884533d43651p-2;
  const double coarse = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & ~0x7ffffffull);
  return exp(-0.5 * coarse * coarse) * exp(-0.5 * (x - coarse) * (x + coarse)) * kInverseSqrtTwoPi;
}

}  // namespace

double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNan;
  if (x == kInfinity) return x;
  int exponent = -1023;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent -= 54;
  }
  // Writes x as 2^exponent (1 + f), with sqrt(1/2) <= 1 + f < sqrt(2).
  constexpr std::uint64_t kSqrtHalf = 0x3fe6a09e00000000u, kOne = 0x3ff0000000000000u;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (kOne - kSqrtHalf);
  exponent += static_cast<int>(bits >> 52);
  const double f = std::bit_cast<double>((bits & 0xfffffffffffffu) + kSqrtHalf) - 1.0;
  const double half = 0.5 * f * f, s = f / (2.0 + f), z = s * s, w = z * z;
  const double even = w * (kLog[1] + w * (kLog[3] + w * kLog[5]));
  const double odd = z * (kLog[0] + w * (kLog[2] + w * (kLog[4] + w * kLog[6])));
  const double k = exponent;
  return s * (half + (even + odd)) + k * kLn2Low - half + f + k * kLn2High;
}

double exp(double x) {
  if (x != x) return kNan;
  if (x > 709.79) return kInfinity;
  if (x < -745.14) return 0;
  constexpr double kToInteger = 0x1.8p52;
  const double k = (x * kInverseLn2 + kToInteger) - kToInteger;
  const double high = x - k * kLn2High, low = k * kLn2Low;
  const double r = high - low, z = r * r;
  const double c = r - z * polynomial(kExp, z);
  const double y = 1.0 + (r * c / (2.0 - c) - low + high);
  const int exponent = static_cast<int>(k);
  if (exponent > 1023) return y * 2.0 * power_of_two(exponent - 1);
  if (exponent < -1021) return y * power_of_two(exponent + 54) * 0x1p-54;  // rounds once
  return y * power_of_two(exponent);
}

double expm1(double x) {
  const double y = exp(x);
  if (y == 1) return x;
  if (!(y > 0x1p-60) || y > 0x1p60) return y - 1;
  return (y - 1) * x / log(y);
}

SineCosine of_turns(double x) {
  // Rounds the angle to the nearest quarter of a turn. The rest is exact and within [-1/8, 1/8]
  // turns.
  constexpr double kToInteger = 0x1.8p52;
  const double quarter = (4.0 * x + kToInteger) - kToInteger;
  const double t = (x - 0.25 * quarter) * kTwoPi;
  const double s = sine(t), c = cosine(t);
  switch (static_cast<int>(quarter) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

double normal_cdf(double x) {
  if (x != x) return kNan;
  const double size = std::abs(x);
  if (size < 2) {
    // The probability is 1/2 + density (x + x^3/3 + x^5/(3 5) + ...). All terms have one sign, so
    // none cancel.
    double term = size, sum = size;
    for (int n = 3; term > sum * 0x1p-60; n += 2) {
      term *= size * size / n;
      sum += term;
    }
    const double half = normal_density(size) * sum;
    return x < 0 ? 0.5 - half : 0.5 + half;
  }
  if (size > 39) return x < 0 ? 0 : 1;
  // The upper tail is the continued fraction density / (x + 1/(x + 2/(x + 3/(x + ...)))). It begins
  // at a depth that is enough even for x = 2.
  double fraction = size;
  for (int n = 200; n > 0; --n) fraction = size + n / fraction;
  const double tail = normal_density(size) / fraction;
  return x < 0 ? tail : 1 - tail;
}

double normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return kNan;
  if (p == 0 || p == 1) return p == 0 ? -kInfinity : kInfinity;
  constexpr double kA[] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                           1.9715909503065514427e+3, 1.3731693765509461125e+4,
                           4.5921953931549871457e+4, 6.7265770927008700853e+4,
                           3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr double kB[] = {1.0,
                           4.2313330701600911252e+1,
                           6.8718700749205790830e+2,
                           5.3941960214247511077e+3,
                           2.1213794301586595867e+4,
                           3.9307895800092710610e+4,
                           2.8729085735721942674e+4,
                           5.2264952788528545610e+3};
  constexpr double kC[] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                           5.76949722146069140550e0,  3.64784832476320460504e0,
                           1.27045825245236838258e0,  2.41780725177450611770e-1,
                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kD[] = {1.0,
                           2.05319162663775882187e0,
                           1.67638483018380384940e0,
                           6.89767334985100004550e-1,
                           1.48103976427480074590e-1,
                           1.51986665636164571966e-2,
                           5.47593808499534494600e-4,
                           1.05075007164441684324e-9};
  constexpr double kE[] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                           1.78482653991729133580e0,  2.96560571828504891230e-1,
                           2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kF[] = {1.0,
                           5.99832206555887937690e-1,
                           1.36929880922735805310e-1,
                           1.48753612908506148525e-2,
                           7.86869131145613259100e-4,
                           1.84631831751005468180e-5,
                           1.42151175831644588870e-7,
                           2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kA, r) / polynomial(kB, r);
  }
  double r = std::sqrt(-log(q < 0 ? p : 1 - p));
  double size;
  if (r <= 5) {
    r -= 1.6;
    size = polynomial(kC, r) / polynomial(kD, r);
  } else {
    r -= 5;
    size = polynomial(kE, r) / polynomial(kF, r);
  }
  return q < 0 ? -size : size;
}

double shortened(double x, int bits) {
  if (!std::isfinite(x)) return x;
  const std::uint64_t unit = std::uint64_t{1} << (53 - bits);
  return std::bit_cast<double>((std::bit_cast<std::uint64_t>(x) + unit / 2) & ~(unit - 1));
}

}  // namespace assay::portable
