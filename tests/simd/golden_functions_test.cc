// Compares the golden functions of arrays with their scalar oracle and MPFR, on every target.
#include "assay/simd/golden_functions.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/op/function_reference.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

struct Function {
  const char* name;
  GoldenFunction function;
  double (*oracle)(double);
};
constexpr Function kFunctions[] = {{"exp", GoldenFunction::kExp, exp_reference},
                                   {"log", GoldenFunction::kLog, log_reference},
                                   {"sqrt", GoldenFunction::kSqrt, sqrt_reference},
                                   {"rsqrt", GoldenFunction::kRsqrt, rsqrt_reference},
                                   {"tanh", GoldenFunction::kTanh, tanh_reference},
                                   {"sigmoid", GoldenFunction::kSigmoid, sigmoid_reference},
                                   {"silu", GoldenFunction::kSilu, silu_reference},
                                   {"gelu", GoldenFunction::kGelu, gelu_reference},
                                   {"gelu_tanh", GoldenFunction::kGeluTanh, gelu_tanh_reference}};
constexpr double kMostFinite = 0x1.fffffffffffffp1023;

std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }

// True if the function is tested for positive arguments only.
bool of_positive(GoldenFunction f) {
  return f == GoldenFunction::kLog || f == GoldenFunction::kSqrt || f == GoldenFunction::kRsqrt;
}

class GoldenFunctionsTest : public OnEveryTarget {
 protected:
  // Expects the oracle's bits if the quick way is sure, and the unchanged argument otherwise. The
  // indices of the unchanged arguments must be right. Returns their number.
  static std::size_t expect_oracle(const Function& f, const std::vector<double>& x) {
    std::vector<double> y = x;
    std::vector<std::uint32_t> left(x.size());
    const std::size_t count = golden_function(f.function, x.size(), y.data(), left.data());
    EXPECT_LE(count, x.size());
    EXPECT_TRUE(std::is_sorted(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(count)));
    std::size_t next = 0;
    int mismatches = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool is_left = next < count && left[next] == i;
      next += is_left ? 1 : 0;
      const double expected = is_left ? x[i] : f.oracle(x[i]);
      if (bits_of(y[i]) != bits_of(expected) && ++mismatches < 4) {
        ADD_FAILURE() << f.name << std::hexfloat << " of " << x[i] << ": " << y[i] << ", not "
                      << expected << (is_left ? " (left)" : "");
      }
    }
    EXPECT_EQ(mismatches, 0) << f.name;
    EXPECT_EQ(next, count) << f.name << ": indices that are none";
    return count;
  }
};

INSTANTIATE_TEST_SUITE_P(OnTarget, GoldenFunctionsTest, testing::ValuesIn(available_targets()),
                         target_of);

TEST_P(GoldenFunctionsTest, AnyBits) {
  Random random(71, 0);
  std::vector<double> x(4001);
  for (double& v : x) v = std::bit_cast<double>(random.next64());
  for (const Function& f : kFunctions) expect_oracle(f, x);
}

TEST_P(GoldenFunctionsTest, SpecialValuesAndTheirNeighbours) {
  std::vector<double> x;
  for (const double v :
       {0.0,     0x1p-1074, 0x1p-1022, 0x1p-900,    0x1p-400, 0x1p-54, 0x1p-27,        0x1p-8,
        0.5,     0.6875,    1.0,       1.375,       2.0,      10.0,    std::sqrt(2.0), 14.5,
        16.0,    19.5,      22.0,      35.0,        36.7,     50.0,    300.0,          600.0,
        0x1p900, 709.78,    745.1,     kMostFinite, kInfinity}) {
    for (int step = -3; step <= 3; ++step) {
      const std::uint64_t bits = bits_of(v) + static_cast<std::uint64_t>(step);
      if (step < 0 && v == 0) continue;
      for (const double sign : {1.0, -1.0}) {
        x.push_back(std::copysign(std::bit_cast<double>(bits), sign));
      }
    }
  }
  x.push_back(kNan);
  for (const Function& f : kFunctions) expect_oracle(f, x);
}

// Arguments that operators usually have. At most one in 500 may be left to the slow way.
TEST_P(GoldenFunctionsTest, CommonArgumentsAreSettled) {
  Random random(72, 0);
  constexpr std::size_t kCount = 6007;
  std::vector<double> x(kCount), positive(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    const double size = i % 3 == 0 ? 30 : i % 3 == 1 ? 3 : std::exp2(-40 * random.uniform());
    x[i] = i % 100 == 0 ? std::copysign(0.0, i % 200 == 0 ? 1 : -1) : size * random.normal() / 4;
    positive[i] = std::exp2(60 * random.uniform() - 30);
    if (i % 2 == 0) positive[i] = 1 + x[i] / 64;
  }
  for (const Function& f : kFunctions) {
    // gelu_tanh has no quick way below -19.5, where its exp ends.
    const bool ends = f.function == GoldenFunction::kGeluTanh;
    if (ends)
      std::replace_if(
          x.begin(), x.end(), [](double v) { return v < -19; }, -19.0);
    EXPECT_LE(expect_oracle(f, of_positive(f.function) ? positive : x), kCount / 500) << f.name;
  }
}

TEST_P(GoldenFunctionsTest, AnyLengthAndNothingBeyondIt) {
  Random random(73, 0);
  std::vector<double> whole(40);
  for (double& v : whole) v = random.uniform() + 0.5;
  whole[7] = whole[21] = kNan;
  for (const Function& f : kFunctions) {
    for (std::size_t n = 0; n < whole.size(); ++n) {
      std::vector<double> y(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n));
      expect_oracle(f, y);
      y.push_back(7);
      std::vector<std::uint32_t> left(n + 1, 77);
      const std::size_t count = golden_function(f.function, n, y.data(), left.data());
      EXPECT_EQ(y[n], 7) << f.name << " " << n;
      EXPECT_EQ(left[count], 77u) << f.name << " " << n;
    }
  }
}

// Computes the functions in 300 bits.
class Mpfr {
 public:
  Mpfr() {
    for (auto* v : {x_, y_, t_, first_, second_}) mpfr_init2(v, 300);
  }
  ~Mpfr() {
    for (auto* v : {x_, y_, t_, first_, second_}) mpfr_clear(v);
  }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  // Returns f(x), rounded. Sets `distance` to how many ulps it is from the middle next to it.
  double rounded(GoldenFunction f, double x, double& distance) {
    const double nearest = mpfr_get_d(function(f, x), MPFR_RNDN);
    mpfr_sub_d(t_, y_, nearest, MPFR_RNDN);
    distance = std::abs(std::abs(mpfr_get_d(t_, MPFR_RNDN) / ulp_of(nearest)) - 0.5);
    return nearest;
  }

  // Calls found(x) with the x at most `steps` ulps from `centre` whose f(x) seems to be within
  // 2^-19 ulps of a middle: by the parabola through three points, modulo 2^-64 ulps.
  template <typename Found>
  void search(GoldenFunction f, double centre, std::int64_t steps, const Found& found) {
    const double step = ulp_of(centre), reach = static_cast<double>(steps) * step;
    const double unit = ulp_of(mpfr_get_d(function(f, centre), MPFR_RNDN));
    mpfr_mul_si(second_, y_, -2, MPFR_RNDN);
    mpfr_set(first_, function(f, centre + reach), MPFR_RNDN);
    mpfr_add(second_, second_, y_, MPFR_RNDN);
    function(f, centre - reach);
    mpfr_add(second_, second_, y_, MPFR_RNDN);
    mpfr_sub(first_, first_, y_, MPFR_RNDN);
    mpfr_div_d(first_, first_, 2 * static_cast<double>(steps), MPFR_RNDN);  // slope at the centre
    mpfr_div_d(second_, second_, static_cast<double>(steps * steps), MPFR_RNDN);
    mpfr_mul_d(t_, second_, 0.5 - static_cast<double>(steps), MPFR_RNDN);
    mpfr_add(first_, first_, t_, MPFR_RNDN);  // the first step's
    std::uint64_t at = fraction(y_, unit) + (std::uint64_t{1} << 63),
                  slope = fraction(first_, unit);
    const std::uint64_t curve = fraction(second_, unit), near = std::uint64_t{1} << 45;
    for (std::int64_t j = -steps; j <= steps; ++j) {
      if (at + near < 2 * near) found(centre + static_cast<double>(j) * step);
      at += slope;
      slope += curve;
    }
  }

 private:
  static double ulp_of(double x) { return std::ldexp(1.0, std::ilogb(x) - 52); }

  // Returns the fractional part of x / unit, in units of 2^-64.
  std::uint64_t fraction(mpfr_srcptr x, double unit) {
    mpfr_div_d(t_, x, unit, MPFR_RNDN);
    mpfr_floor(x_, t_);
    mpfr_sub(t_, t_, x_, MPFR_RNDN);
    mpfr_mul_2ui(t_, t_, 64, MPFR_RNDN);
    return mpfr_get_ui(t_, MPFR_RNDD);
  }

  mpfr_srcptr function(GoldenFunction f, double x) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    switch (f) {
      case GoldenFunction::kExp:
        mpfr_exp(y_, x_, MPFR_RNDN);
        break;
      case GoldenFunction::kLog:
        mpfr_log(y_, x_, MPFR_RNDN);
        break;
      case GoldenFunction::kSqrt:
        mpfr_sqrt(y_, x_, MPFR_RNDN);
        break;
      case GoldenFunction::kRsqrt:
        mpfr_rec_sqrt(y_, x_, MPFR_RNDN);
        break;
      case GoldenFunction::kTanh:
        mpfr_tanh(y_, x_, MPFR_RNDN);
        break;
      case GoldenFunction::kGelu:  // x erfc(-x / sqrt 2) / 2
        mpfr_sqrt_ui(t_, 2, MPFR_RNDN);
        mpfr_div(t_, x_, t_, MPFR_RNDN);
        mpfr_neg(t_, t_, MPFR_RNDN);
        mpfr_erfc(t_, t_, MPFR_RNDN);
        mpfr_mul(y_, x_, t_, MPFR_RNDN);
        mpfr_div_ui(y_, y_, 2, MPFR_RNDN);
        break;
      default:  // x or 1 over 1 + exp(-t)
        set_exponent(f, x);
        mpfr_exp(t_, t_, MPFR_RNDN);
        mpfr_add_ui(t_, t_, 1, MPFR_RNDN);
        if (f == GoldenFunction::kSigmoid) mpfr_set_ui(x_, 1, MPFR_RNDN);
        mpfr_div(y_, x_, t_, MPFR_RNDN);
    }
    return y_;
  }

  void set_exponent(GoldenFunction f, double x) {
    mpfr_set_d(t_, x, MPFR_RNDN);
    if (f == GoldenFunction::kGeluTanh) {  // sqrt(8 / pi) (x + 0.044715 x^3)
      mpfr_pow_ui(t_, x_, 3, MPFR_RNDN);
      mpfr_mul_ui(t_, t_, 44715, MPFR_RNDN);
      mpfr_div_ui(t_, t_, 1000000, MPFR_RNDN);
      mpfr_add(t_, t_, x_, MPFR_RNDN);
      mpfr_const_pi(y_, MPFR_RNDN);
      mpfr_ui_div(y_, 8, y_, MPFR_RNDN);
      mpfr_sqrt(y_, y_, MPFR_RNDN);
      mpfr_mul(t_, t_, y_, MPFR_RNDN);
    }
    mpfr_neg(t_, t_, MPFR_RNDN);
  }

  mpfr_t x_, y_, t_, first_, second_;
};

// Returns a value near an end of one of the intervals of a function's quick way, where its error is
// largest.
double interval_end(GoldenFunction f, Random& random) {
  constexpr double kLog2 = 0x1.62e42fefa39efp-1, kRoot2 = 0x1.6a09e667f3bcdp+0;
  const double within = 1 - random.uniform() / 64;
  const double half = std::floor(1000 * random.uniform()) - 500 + within / 2;
  switch (f) {
    case GoldenFunction::kLog:
      return 1 + 0x1p-7 * within;
    case GoldenFunction::kTanh:
      return random.below(2) == 0 ? kLog2 / 512 * within : kLog2 / 256 * half;
    case GoldenFunction::kGelu:
      return (half - 500) / 128 * kRoot2;
    case GoldenFunction::kSqrt:
    case GoldenFunction::kRsqrt:
      return 1 + random.uniform();
    default:
      return kLog2 / 128 * half;
  }
}

// Arguments whose results lie near the middle between two float64. A quick way that claims too much
// gives the wrong one there.
struct NearMiddle {
  double x, result;
};
std::vector<NearMiddle> near_middles(GoldenFunction f) {
  Mpfr mpfr;
  Random random(74, static_cast<std::uint64_t>(f));
  std::vector<NearMiddle> found;
  const auto look_at = [&](double x) {
    double distance;
    const double result = mpfr.rounded(f, x, distance);
    if (distance < 0x1p-15) found.push_back({x, result});
  };
  for (int i = 0; i < 384; ++i) {
    double x = (i % 2 == 0 ? 1 : 8) * (2 * random.uniform() - 1);
    if (f == GoldenFunction::kGelu && i % 4 == 0) x = -20 * random.uniform();
    if (of_positive(f)) x = std::abs(x) + 0x1p-10;
    if (i % 3 == 0) x = interval_end(f, random);
    mpfr.search(f, x, 1 << 17, look_at);
  }
  // Within 2^-15 to 2^-37 ulps of a middle: exp(x) = 1 + x + x^2 / 2 + ..., 1 / (1 + exp(-x)) =
  // 1 / 2 + x / 4 - x^3 / 48 + ..., 1 / sqrt(1 - x) = 1 + x / 2 + 3 x^2 / 8 + ..., with x an odd
  // multiple of the smallest power of 2 such that the second term is half an ulp.
  for (int i = 0; i < 300; ++i) {
    const auto odd = [&](int least, int most) {
      return std::floor(std::exp2(least + (most - least) * random.uniform())) * 2 + 1;
    };
    if (f == GoldenFunction::kExp) look_at(odd(13, 20) * 0x1p-53);
    if (f == GoldenFunction::kSigmoid) look_at(odd(25, 30) * 0x1p-52);
    if (f == GoldenFunction::kRsqrt) look_at(1 - odd(12, 20) * 0x1p-52);
  }
  return found;
}

TEST(GoldenFunctionsNearMiddlesTest, AreMpfrsOnEveryTarget) {
  for (const Function& f : kFunctions) {
    const std::vector<NearMiddle> points = near_middles(f.function);
    EXPECT_GT(points.size(), 100u) << f.name;
    for (const std::string& target : available_targets()) {
      force_target(target);
      std::vector<double> y;
      for (const NearMiddle& point : points) y.push_back(point.x);
      std::vector<std::uint32_t> left(y.size());
      const std::size_t count = golden_function(f.function, y.size(), y.data(), left.data());
      for (std::size_t i = 0; i < count; ++i) y[left[i]] = f.oracle(y[left[i]]);
      for (std::size_t i = 0; i < points.size(); ++i) {
        EXPECT_EQ(bits_of(y[i]), bits_of(points[i].result))
            << f.name << " of " << std::hexfloat << points[i].x << " on " << target;
      }
    }
    force_target("");
  }
}

}  // namespace
}  // namespace assay::simd
