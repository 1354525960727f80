// Compares the elementary functions with MPFR, and their bits with recorded ones, because a change
// of one bit changes every seeded input.
#include "assay/base/elementary.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"

namespace assay::portable {
namespace {

class Mpfr {
 public:
  explicit Mpfr(double value, mpfr_prec_t precision = 200) {
    mpfr_init2(x_, precision);
    mpfr_set_d(x_, value, MPFR_RNDN);
  }
  ~Mpfr() { mpfr_clear(x_); }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;
  mpfr_ptr get() { return x_; }

 private:
  mpfr_t x_;
};

using Reference = std::function<void(mpfr_ptr)>;  // in place

// Returns |got - reference(x)| in units of the last place of the reference, rounded to float64.
double ulps(double got, double x, const Reference& reference) {
  Mpfr right(x);
  reference(right.get());
  const double near = mpfr_get_d(right.get(), MPFR_RNDN);
  if (std::isinf(near) || near == 0) return got == near ? 0 : kInfinity;
  const int exponent = std::max(std::ilogb(near), -1022);
  mpfr_sub_d(right.get(), right.get(), got, MPFR_RNDN);
  mpfr_mul_2si(right.get(), right.get(), 52 - exponent, MPFR_RNDN);
  return std::abs(mpfr_get_d(right.get(), MPFR_RNDN));
}

double relative(double got, double x, const Reference& reference) {
  Mpfr right(x);
  reference(right.get());
  const double near = mpfr_get_d(right.get(), MPFR_RNDN);
  mpfr_sub_d(right.get(), right.get(), got, MPFR_RNDN);
  return std::abs(mpfr_get_d(right.get(), MPFR_RNDN) / near);
}

void log_exactly(mpfr_ptr x) { mpfr_log(x, x, MPFR_RNDN); }
void exp_exactly(mpfr_ptr x) { mpfr_exp(x, x, MPFR_RNDN); }
void expm1_exactly(mpfr_ptr x) { mpfr_expm1(x, x, MPFR_RNDN); }
void to_angle(mpfr_ptr x) {
  Mpfr pi(0);
  mpfr_const_pi(pi.get(), MPFR_RNDN);
  mpfr_mul(x, x, pi.get(), MPFR_RNDN);
  mpfr_mul_2ui(x, x, 1, MPFR_RNDN);
}
void sine_exactly(mpfr_ptr x) {
  to_angle(x);
  mpfr_sin(x, x, MPFR_RNDN);
}
void cosine_exactly(mpfr_ptr x) {
  to_angle(x);
  mpfr_cos(x, x, MPFR_RNDN);
}
void cdf_exactly(mpfr_ptr x) {  // erfc(-x / sqrt 2) / 2
  Mpfr root(2);
  mpfr_sqrt(root.get(), root.get(), MPFR_RNDN);
  mpfr_div(x, x, root.get(), MPFR_RNDN);
  mpfr_neg(x, x, MPFR_RNDN);
  mpfr_erfc(x, x, MPFR_RNDN);
  mpfr_div_2ui(x, x, 1, MPFR_RNDN);
}

// Returns the FNV-1a hash of the bits of f(x) for drawn x.
std::uint64_t hash(const std::vector<double>& inputs, const std::function<double(double)>& f) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (const double x : inputs) {
    const auto bits = std::bit_cast<std::uint64_t>(f(x));
    for (int shift = 0; shift < 64; shift += 8) {
      sum = (sum ^ ((bits >> shift) & 255)) * 0x100000001b3u;
    }
  }
  return sum;
}

std::vector<double> drawn(std::uint64_t stream, double low, double high) {
  Random random(70, stream);
  std::vector<double> inputs(20000);
  for (double& x : inputs) x = low + (high - low) * random.uniform();
  return inputs;
}

// Returns positive numbers of every exponent, with subnormal ones.
std::vector<double> every_exponent() {
  Random random(70, 1);
  std::vector<double> inputs;
  for (std::uint64_t exponent = 0; exponent < 2047; ++exponent) {
    for (int i = 0; i < 8; ++i) {
      inputs.push_back(std::bit_cast<double>((exponent << 52) | (random.next64() >> 12)));
    }
  }
  return inputs;
}

double worst(const std::vector<double>& inputs, const std::function<double(double)>& f,
             const Reference& reference) {
  double most = 0;
  for (const double x : inputs) most = std::max(most, ulps(f(x), x, reference));
  return most;
}

TEST(ElementaryTest, Logarithm) {
  EXPECT_LT(worst(every_exponent(), log, log_exactly), 1);
  // Near 1 the result is small. The Box-Muller method needs arguments in (0, 1].
  EXPECT_LT(worst(drawn(2, 0.9, 1.1), log, log_exactly), 1);
  EXPECT_LT(worst(drawn(3, 0, 1), log, log_exactly), 1);
  for (const double x : {0x1p-53, 1 - 0x1p-53, 1 + 0x1p-52, 0x1p-1074, 0x1.fffffffffffffp1023}) {
    EXPECT_LT(ulps(log(x), x, log_exactly), 1) << x;
  }
  EXPECT_EQ(log(1), 0);
  EXPECT_EQ(log(0), -kInfinity);
  EXPECT_EQ(log(-0.0), -kInfinity);
  EXPECT_EQ(log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(log(-1)));
  EXPECT_TRUE(std::isnan(log(std::nan(""))));
}

TEST(ElementaryTest, Exponential) {
  EXPECT_LT(worst(drawn(4, -708, 709.7), exp, exp_exactly), 1);
  EXPECT_LT(worst(drawn(5, -1, 1), exp, exp_exactly), 1);
  EXPECT_LT(worst(drawn(6, -745, -708), exp, exp_exactly), 1.01) << "subnormal results round twice";
  EXPECT_EQ(exp(0), 1);
  EXPECT_EQ(exp(709.782712893384), 0x1.fffffffffff2ap1023);
  EXPECT_EQ(exp(709.7827128933841), kInfinity);
  EXPECT_EQ(exp(kInfinity), kInfinity);
  EXPECT_EQ(exp(-kInfinity), 0);
  EXPECT_EQ(exp(-745.2), 0);
  EXPECT_EQ(exp(-745.1), 0x1p-1074);
  EXPECT_TRUE(std::isnan(exp(std::nan(""))));
}

TEST(ElementaryTest, ExponentialLessOne) {
  std::vector<double> inputs = drawn(7, -40, 700);
  for (const double x : drawn(8, -60, 0)) {  // of every size
    inputs.push_back(std::exp2(x));
    inputs.push_back(-std::exp2(x));
  }
  EXPECT_LT(worst(inputs, expm1, expm1_exactly), 4);
  EXPECT_EQ(expm1(0), 0);
  EXPECT_EQ(expm1(1e-300), 1e-300);
  EXPECT_EQ(expm1(-kInfinity), -1);
  EXPECT_EQ(expm1(kInfinity), kInfinity);
}

TEST(ElementaryTest, SineAndCosineOfTurns) {
  std::vector<double> inputs = drawn(9, 0, 1);
  for (const double near : {0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0}) {
    for (const double away : {-0x1p-53, -0x1p-30, 0x1p-53, 0x1p-30, 0x1p-20}) {
      if (near + away > 0 && near + away < 1) inputs.push_back(near + away);
    }
  }
  EXPECT_LT(worst(
                inputs, [](double x) { return of_turns(x).sine; }, sine_exactly),
            2);
  EXPECT_LT(worst(
                inputs, [](double x) { return of_turns(x).cosine; }, cosine_exactly),
            2);
  // Quarters are exact.
  const double sines[] = {0, 1, 0, -1, 0}, cosines[] = {1, 0, -1, 0, 1};
  for (int q = 0; q <= 4; ++q) {
    EXPECT_EQ(of_turns(q / 4.0).sine, sines[q]) << q;
    EXPECT_EQ(of_turns(q / 4.0).cosine, cosines[q]) << q;
  }
}

TEST(ElementaryTest, NormalProbability) {
  for (const double x : drawn(10, -37, 8)) {
    ASSERT_LT(relative(normal_cdf(x), x, cdf_exactly), 1e-13) << x;
  }
  EXPECT_EQ(normal_cdf(0), 0.5);
  EXPECT_EQ(normal_cdf(-40), 0);
  EXPECT_EQ(normal_cdf(40), 1);
  EXPECT_TRUE(std::isnan(normal_cdf(std::nan(""))));
}

// The exact probability of the computed quantile is near p: |p' - p| <= density |error of x|.
TEST(ElementaryTest, NormalQuantile) {
  std::vector<double> inputs = drawn(11, 0, 1);
  for (const double x : drawn(12, -1000, -1)) {
    if (inputs.size() < 21000) inputs.push_back(std::exp2(x));
  }
  for (const double p : inputs) {
    const double x = normal_quantile(p);
    Mpfr back(x);
    cdf_exactly(back.get());
    mpfr_sub_d(back.get(), back.get(), p, MPFR_RNDN);
    const double off = mpfr_get_d(back.get(), MPFR_RNDN) / p;
    // d log(p) / dx is at most |x| + 1 in the lower tail, and 0.8 above it.
    ASSERT_LT(std::abs(off), (std::abs(x) + 1) * (std::abs(x) + 0.01) * 4e-15) << p;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_EQ(normal_quantile(0), -kInfinity);
  EXPECT_EQ(normal_quantile(1), kInfinity);
  EXPECT_TRUE(std::isnan(normal_quantile(-0.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(1.1)));
  EXPECT_TRUE(std::isnan(normal_quantile(std::nan(""))));
  // The values are those of Python's statistics.NormalDist().inv_cdf, which is the same algorithm.
  EXPECT_NEAR(normal_quantile(0.975), 1.9599639845400536, 1e-15);
  EXPECT_NEAR(normal_quantile(1e-9), -5.997807015007687, 1e-14);
}

TEST(ElementaryTest, ShortenedIsRoundedToSoManyBits) {
  EXPECT_EQ(shortened(1 + 0x1p-20, 21), 1 + 0x1p-20);
  EXPECT_EQ(shortened(1 + 0x1p-21 - 0x1p-52, 21), 1);
  EXPECT_EQ(shortened(-1 - 0x1p-21 - 0x1p-52, 21), -1 - 0x1p-20);
  EXPECT_EQ(shortened(2 - 0x1p-52, 21), 2);  // rounds up to the next power of two
  EXPECT_EQ(shortened(1 + 0x1p-52, 53), 1 + 0x1p-52);
  EXPECT_EQ(shortened(0, 21), 0);
  EXPECT_EQ(shortened(-kInfinity, 21), -kInfinity);
  EXPECT_TRUE(std::isnan(shortened(kNan, 21)));
}

TEST(ElementaryTest, BitsAreFrozen) {
  EXPECT_EQ(hash(every_exponent(), log), 6496048314509880422u);
  EXPECT_EQ(hash(drawn(4, -745, 709), exp), 5017508147898326259u);
  EXPECT_EQ(hash(drawn(8, -40, 40), expm1), 10095948465353540505u);
  EXPECT_EQ(hash(drawn(9, 0, 1), [](double x) { return of_turns(x).sine; }), 13591414270039182768u);
  EXPECT_EQ(hash(drawn(9, 0, 1), [](double x) { return of_turns(x).cosine; }),
            11188035711914970661u);
  EXPECT_EQ(hash(drawn(10, -37, 8), normal_cdf), 15087403192120614473u);
  EXPECT_EQ(hash(drawn(11, 0, 1), normal_quantile), 4944985539336163920u);
}

}  // namespace
}  // namespace assay::portable
