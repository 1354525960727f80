// Double-double arithmetic. A number is the sum of two float64, the first of which is the rounded
// sum (Dekker, Numerische Mathematik 18, 1971; Joldes, Muller and Popescu, ACM TOMS 44(2), 2017).
// It uses only float64 operations and std::fma, so every processor computes the same bits. Relative
// errors are a few 2^-104 as long as all parts are normal: for numbers from 2^-900 to 2^1000.
#pragma once

#include <cmath>

namespace assay::inline v0_2 {

struct DoubleDouble {
  constexpr DoubleDouble(double value = 0) : high(value) {}
  constexpr DoubleDouble(double high_part, double low_part) : high(high_part), low(low_part) {}

  double high, low = 0;
};

// Return exact results: the sum of two numbers with |a| >= |b|, the sum of any two numbers, and the
// product of two numbers.
inline DoubleDouble sum_of_ordered(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}
inline DoubleDouble exact_sum(double a, double b) {
  const double sum = a + b, part = sum - a;
  return {sum, (a - (sum - part)) + (b - part)};
}
inline DoubleDouble exact_product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(const DoubleDouble& a) { return {-a.high, -a.low}; }
inline DoubleDouble operator+(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble high = exact_sum(a.high, b.high), low = exact_sum(a.low, b.low);
  const DoubleDouble both = sum_of_ordered(high.high, high.low + low.high);
  return sum_of_ordered(both.high, low.low + both.low);
}
inline DoubleDouble operator-(const DoubleDouble& a, const DoubleDouble& b) { return a + -b; }
inline DoubleDouble operator*(const DoubleDouble& a, const DoubleDouble& b) {
  const DoubleDouble product = exact_product(a.high, b.high);
  const double crossed = std::fma(a.high, b.low, a.low * b.high);
  return sum_of_ordered(product.high, product.low + crossed);
}
inline DoubleDouble operator/(const DoubleDouble& a, const DoubleDouble& b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * first;
  const double second = rest.high / b.high;
  const double third = (rest - b * second).high / b.high;
  return sum_of_ordered(first, second) + third;
}

DoubleDouble sqrt(const DoubleDouble& x);  // for x >= 0
// Returns e^x for |x| <= 600, with a relative error below 2^-103.
DoubleDouble exp(const DoubleDouble& x);

// True if every number within this relative error of x rounds to the same float64, which is x.high
// (Ziv, ACM TOMS 17(3), 1991). x.high must be normal.
inline bool is_sure(const DoubleDouble& x, double relative_error) {
  const double off = std::abs(x.high) * relative_error;
  return x.high + (x.low + off) == x.high && x.high + (x.low - off) == x.high;
}

// Returns the square root of x^2 + y^2. The error is at most 0.5001 ulp if the result is normal.
// NaN and infinity are treated as by std::hypot.
double hypot(double x, double y);

}  // namespace assay
