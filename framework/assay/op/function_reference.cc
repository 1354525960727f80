#include "assay/op/function_reference.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/quad.h"

namespace assay {
namespace {

// pi in three parts, beyond the precision of binary128.
constexpr double kPi[] = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53, -0x1.f1976b7ed8fbcp-109};

double to_float64(Quad value) { return static_cast<double>(value); }

// Whether exp(x) and what is computed from it have room in double-double arithmetic.
bool has_room(double x) { return std::abs(x) < 600; }
// Whether products of x and its reciprocal have.
bool is_moderate(double x) { return x > 0x1p-400 && x < 0x1p400; }

// A result that a quick way found, where its error leaves no doubt of its rounding; else the slow
// one.
template <typename Slow>
double sure(const DoubleDouble& quick, double relative_error, const Slow& slow) {
  const double size = std::abs(quick.high);
  return size > 0x1p-900 && size < 0x1p900 && is_sure(quick, relative_error) ? quick.high : slow();
}

DoubleDouble to_double_double(Quad x) {
  const auto high = static_cast<double>(x);
  return {high, static_cast<double>(x - high)};
}

// Relative error below 2^-100.
DoubleDouble reciprocal(const DoubleDouble& x) {
  const double first = 1 / x.high;
  const double rest = std::fma(-first, x.high, 1) - first * x.low;
  return sum_of_ordered(first, first * rest);
}

// |x| at most 600; relative error below 2^-71.
DoubleDouble one_plus_exp(const DoubleDouble& x) {
  const DoubleDouble e = quick_exp(x), sum = exact_sum(1, e.high);
  return sum_of_ordered(sum.high, sum.low + e.low);
}

// erfc by its series around the points c of a table. With h = z - c, the derivative is
// -2 / sqrt(pi) exp(-c^2) exp(-2 c h - h^2), and exp(-2 c h - h^2) = sum g_n h^n, where
// g_(n+1) = -2 (c g_n + g_(n-1)) / (n + 1).
class QuickErfc {
 public:
  static constexpr double kLeast = -10, kMost = 26;  // of z
  static constexpr double kError = 0x1p-62;          // relative

  static const QuickErfc& get() {
    static const QuickErfc made;
    return made;
  }

  // |2 c h| is at most 0.41, so that terms from the sixth on are below 2^-13 of the first, and
  // float64 does; what is left out is below 2^-75.
  DoubleDouble operator()(const DoubleDouble& z) const {
    const double step = std::nearbyint(z.high * kSteps);
    const Point& point = points_[static_cast<std::size_t>(step - kLeast * kSteps)];
    const DoubleDouble h = exact_sum(z.high - step / kSteps, z.low);
    double tail = 0;
    for (int n = kTail; n-- > 0;) tail = tail * h.high + point.tail[n];
    DoubleDouble sum = tail;
    for (int n = kPrecise; n-- > 0;) sum = sum * h + point.terms[n];
    return sum;
  }

 private:
  static constexpr double kSteps = 64;
  static constexpr int kPrecise = 6, kTail = 13;
  struct Point {
    DoubleDouble terms[kPrecise];  // of h^0, h^1, ...
    double tail[kTail];
  };

  QuickErfc() {
    const Quad factor = -2 / quad::sqrt(Quad{kPi[0]} + kPi[1] + kPi[2]);
    for (double step = kLeast * kSteps; step <= kMost * kSteps; ++step) {
      const Quad c = step / kSteps, slope = factor * quad::exp(-c * c);
      Point point;
      point.terms[0] = to_double_double(quad::erfc(c));
      Quad before = 0, g = 1;
      for (int n = 1; n < kPrecise + kTail; ++n) {
        const Quad term = slope * g / n;
        if (n < kPrecise)
          point.terms[n] = to_double_double(term);
        else
          point.tail[n - kPrecise] = static_cast<double>(term);
        const Quad next = -2 * (c * g + before) / n;
        before = g, g = next;
      }
      points_.push_back(point);
    }
  }
  std::vector<Point> points_;
};

// The functions with room for every argument.

// erfc magnifies a relative error of its argument z by 2 z^2, below 2^11 where the result is not 0:
// of 113 bits a hundred are left.
double slow_gelu(double x) {
  const Quad z = -Quad{x} * quad::sqrt(Quad{0.5});
  return quad::is_finite(z) ? to_float64(Quad{x} / 2 * quad::erfc(z)) : x;
}

double slow_gelu_tanh(double x) {
  static const Quad factor = quad::sqrt(8 / (Quad{kPi[0]} + kPi[1] + kPi[2]));
  const Quad v = x, twice = factor * (v + Quad{44715} / 1000000 * v * v * v);
  const auto high = static_cast<double>(twice);
  if (has_room(high) && std::abs(x) > 0x1p-400) {
    return (x / (exp({-high, static_cast<double>(high - twice)}) + 1)).high;
  }
  return to_float64(v / (1 + quad::exp(-twice)));
}

// By one step of Newton's iteration for exp(y) = x, from the C library's y: it squares y's error
// and leaves a third of its cube.
double slow_log(double x) {
  if (!is_moderate(x) || std::abs(x - 1) < 0x1p-6) return to_float64(quad::log(x));
  const double y = std::log(x);
  const DoubleDouble off = x * exp(-y) - 1;
  return (y + (off - off * off / 2)).high;
}

}  // namespace

// x Phi(x) = x / 2 erfc(-x / sqrt(2)).
double gelu_reference(double x) {
  if (x == -kInfinity) return -0.0;
  static const DoubleDouble root_half = to_double_double(quad::sqrt(Quad{0.5}));
  const double z = -x * root_half.high;
  if (z <= QuickErfc::kLeast) return x;  // erfc(z) / 2 is within 2^-148 of 1
  if (!(z > QuickErfc::kLeast && z < QuickErfc::kMost) || std::abs(x) < 0x1p-400) {
    return slow_gelu(x);
  }
  return sure(DoubleDouble(x / 2) * QuickErfc::get()(DoubleDouble(-x) * root_half),
              2 * QuickErfc::kError, [x] { return slow_gelu(x); });
}

// x / 2 (1 + tanh u) = x / (1 + exp(-2 u)), without cancellation.
double gelu_tanh_reference(double x) {
  if (x == -kInfinity) return -0.0;
  static const DoubleDouble factor =
      to_double_double(-quad::sqrt(8 / (Quad{kPi[0]} + kPi[1] + kPi[2])));
  static const DoubleDouble cubic = to_double_double(Quad{44715} / 1000000);
  if (!(std::abs(x) < 16) || std::abs(x) < 0x1p-400) return slow_gelu_tanh(x);
  const DoubleDouble argument = factor * (DoubleDouble(x) * (cubic * exact_product(x, x) + 1));
  return sure(DoubleDouble(x) * reciprocal(one_plus_exp(argument)), 0x1p-69,
              [x] { return slow_gelu_tanh(x); });
}

double exp_reference(double x) {
  if (!has_room(x)) return to_float64(quad::exp(x));
  return sure(quick_exp(x), 0x1p-71, [x] { return exp(x).high; });
}

double log_reference(double x) {
  if (!is_moderate(x) || std::abs(x - 1) < 0x1p-12) return slow_log(x);
  // As slow_log(), with an exp whose error is 2^-72.
  const double y = std::log(x);
  const DoubleDouble e = quick_exp(-y), product = exact_product(x, e.high);
  const double off = (product.high - 1) + (product.low + x * e.low);
  return sure(sum_of_ordered(y, off - off * off / 2), 0x1p-71 / std::abs(y),
              [x] { return slow_log(x); });
}

double sqrt_reference(double x) { return std::sqrt(x); }

// By one step of Newton's iteration for 1 / y^2 = x.
double rsqrt_reference(double x) {
  if (!is_moderate(x)) return to_float64(1 / quad::sqrt(x));
  const double y = 1 / std::sqrt(x);
  const DoubleDouble product = exact_product(x, y);
  const double rest = std::fma(-product.high, y, 1) - product.low * y;
  return sure(sum_of_ordered(y, y * rest / 2), 0x1p-98,
              [x] { return (1 / sqrt(DoubleDouble(x))).high; });
}

double tanh_reference(double x) {
  const double size = std::abs(x);
  const auto slow = [size] { return to_float64(quad::tanh(size)); };
  if (!has_room(2 * x)) return to_float64(quad::tanh(x));
  if (size < 0x1p-8) {
    // x - x^3 / 3 + 2 x^5 / 15 - 17 x^7 / 315 + 62 x^9 / 2835, of which all but x is below 2^-17 of
    // it.
    const double s = size * size;
    const double off = s * (-1.0 / 3 + s * (2.0 / 15 + s * (-17.0 / 315 + s * (62.0 / 2835))));
    return std::copysign(sure(sum_of_ordered(size, size * off), 0x1p-67, slow), x);
  }
  const DoubleDouble e = quick_exp(-2 * size), rest = exact_sum(1, -e.high);
  const DoubleDouble quick =
      sum_of_ordered(rest.high, rest.low - e.low) * reciprocal(one_plus_exp(-2 * size));
  return std::copysign(sure(quick, 0x1p-63, slow), x);
}

double sigmoid_reference(double x) {
  if (!has_room(x)) return to_float64(1 / (1 + quad::exp(-Quad{x})));
  return sure(reciprocal(one_plus_exp(-x)), 0x1p-69, [x] { return (1 / (exp(-x) + 1)).high; });
}

double silu_reference(double x) {
  if (x == -kInfinity) return -0.0;
  if (!has_room(x) || std::abs(x) < 0x1p-400) return to_float64(x / (1 + quad::exp(-Quad{x})));
  return sure(DoubleDouble(x) * reciprocal(one_plus_exp(-x)), 0x1p-69,
              [x] { return (x / (exp(-x) + 1)).high; });
}

}  // namespace assay
