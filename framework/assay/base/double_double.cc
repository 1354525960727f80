#include "assay/base/double_double.h"

#include "assay/base/constants.h"

namespace assay {
namespace {

// log 2 in three parts: a whole number below 2^11 times the first or the second is exact.
constexpr double kLn2[] = {0x1.62e42fefa3000p-1, 0x1.3de6af278e000p-42, 0x1.9cc01f97b57a0p-83};

// 1 / n!: in twice the precision for n from 2 to 5, rounded for n from 6 to 10.
constexpr DoubleDouble kLow[] = {{0x1p-1, 0},
                                 {0x1.5555555555555p-3, 0x1.5555555555555p-57},
                                 {0x1.5555555555555p-5, 0x1.5555555555555p-59},
                                 {0x1.1111111111111p-7, 0x1.1111111111111p-63}};
constexpr double kHigh[] = {0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
                            0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22};

DoubleDouble scaled(const DoubleDouble& x, int exponent) {
  return {std::ldexp(x.high, exponent), std::ldexp(x.low, exponent)};
}

}  // namespace

DoubleDouble sqrt(const DoubleDouble& x) {
  const double root = std::sqrt(x.high);
  if (root == 0) return 0;
  const DoubleDouble rest = x - exact_product(root, root);
  return sum_of_ordered(root, rest.high / (2 * root));
}

// exp(x) = 2^k (exp((x - k log 2) / 256))^256, by the series of exp - 1 and its doublings: where y
// is exp(t) - 1, exp(2t) - 1 is y (2 + y).
DoubleDouble exp(const DoubleDouble& x) {
  constexpr int kDoublings = 8;
  const double k = std::nearbyint(x.high * 0x1.71547652b82fep+0);
  const DoubleDouble rest = (DoubleDouble(x.high - k * kLn2[0]) - k * kLn2[1]) +
                            (DoubleDouble(x.low) - exact_product(k, kLn2[2]));
  const DoubleDouble t = scaled(rest, -kDoublings);
  double tail = 0;
  for (int i = 4; i >= 0; --i) tail = tail * t.high + kHigh[i];
  DoubleDouble y = t * tail;
  for (int i = 3; i >= 0; --i) y = (i == 3 ? y : t * y) + kLow[i];
  y = t + t * t * y;
  for (int i = 0; i < kDoublings; ++i) y = y * (y + 2);
  return scaled(y + 1, static_cast<int>(k));
}

double hypot(double x, double y) {
  x = std::abs(x), y = std::abs(y);
  if (x == kInfinity || y == kInfinity) return kInfinity;
  if (std::isnan(x) || std::isnan(y)) return x + y;
  const double largest = x > y ? x : y;
  if (largest == 0) return 0;
  const auto root = [](double a, double b) {
    return sqrt(exact_product(a, a) + exact_product(b, b)).high;
  };
  if (largest > 0x1p-400 && largest < 0x1p400) return root(x, y);
  const int exponent = std::ilogb(largest);
  return std::ldexp(root(std::ldexp(x, -exponent), std::ldexp(y, -exponent)), exponent);
}

}  // namespace assay
