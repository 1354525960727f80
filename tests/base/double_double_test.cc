// Compares double-double arithmetic with MPFR.
#include "assay/base/double_double.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>

#include "assay/base/constants.h"
#include "assay/base/random.h"

namespace assay {
namespace {

class DoubleDoubleTest : public testing::Test {
 protected:
  DoubleDoubleTest() {
    for (auto* v : {a_, b_, c_}) mpfr_init2(v, 400);
  }
  ~DoubleDoubleTest() override {
    for (auto* v : {a_, b_, c_}) mpfr_clear(v);
  }

  static void set(mpfr_ptr to, const DoubleDouble& x) {
    mpfr_set_d(to, x.high, MPFR_RNDN);
    mpfr_add_d(to, to, x.low, MPFR_RNDN);
  }
  // Returns the relative error of x. The right value is in c_.
  double error(const DoubleDouble& x) {
    set(a_, x);
    EXPECT_EQ(mpfr_get_d(a_, MPFR_RNDN), x.high);  // the sum rounded
    mpfr_sub(a_, a_, c_, MPFR_RNDN);
    mpfr_div(a_, a_, c_, MPFR_RNDN);
    return std::abs(mpfr_get_d(a_, MPFR_RNDN));
  }
  // Returns a random double-double number within [-size, size].
  DoubleDouble draw(double size) {
    const double high = size * (2 * random_.uniform() - 1);
    return sum_of_ordered(high, high * 0x1p-53 * (random_.uniform() - 0.5));
  }

  Random random_{5, 0};
  mpfr_t a_, b_, c_;
};

TEST_F(DoubleDoubleTest, FourOperationsAndRoot) {
  using Operation = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);
  const Operation exact[] = {mpfr_add, mpfr_sub, mpfr_mul, mpfr_div};
  for (int i = 0; i < 20000; ++i) {
    const DoubleDouble x = draw(1), y = i % 4 == 0 ? x * draw(1.5) : draw(0x1p40);
    const DoubleDouble results[] = {x + y, x - y, x * y, x / y};
    for (int operation = 0; operation < 4; ++operation) {
      set(a_, x), set(b_, y);
      exact[operation](c_, a_, b_, MPFR_RNDN);
      EXPECT_LE(error(results[operation]), 0x1p-101) << operation;
    }
    set(a_, x.high < 0 ? -x : x);
    mpfr_sqrt(c_, a_, MPFR_RNDN);
    EXPECT_LE(error(sqrt(x.high < 0 ? -x : x)), 0x1p-101);
  }
}

TEST_F(DoubleDoubleTest, Exponentials) {
  for (int i = 0; i < 20000; ++i) {
    const DoubleDouble x = draw(i % 2 == 0 ? 600 : std::ldexp(1.0, -i % 60));
    set(a_, x);
    mpfr_exp(c_, a_, MPFR_RNDN);
    EXPECT_LE(error(exp(x)), 0x1p-103) << x.high;
  }
  EXPECT_EQ(exp(DoubleDouble(0)).high, 1);
}

// The rounding is sure if no number within the error is rounded to another float64.
TEST(IsSureTest, AsFarAsHalfAnUlp) {
  constexpr double kHalfUlp = 0x1p-53;
  for (const double sign : {1.0, -1.0}) {
    EXPECT_TRUE(is_sure({sign, 0}, 0x1p-55));
    EXPECT_TRUE(is_sure({sign, sign * kHalfUlp * 0.75}, 0x1p-56));
    EXPECT_TRUE(is_sure({sign, sign * -kHalfUlp * 0.25}, 0x1p-56));
    // These numbers are next to the middle of two float64, above and below it.
    EXPECT_FALSE(is_sure({sign * 1.5, sign * kHalfUlp * (1 - 0x1p-9)}, 0x1p-60));
    EXPECT_FALSE(is_sure({sign * 1.5, sign * -kHalfUlp * (1 - 0x1p-9)}, 0x1p-60));
    EXPECT_TRUE(is_sure({sign * 1.5, sign * kHalfUlp * (1 - 0x1p-9)}, 0x1p-64));
  }
}

TEST_F(DoubleDoubleTest, Hypotenuses) {
  for (int i = 0; i < 20000; ++i) {
    const int size = i % 3 == 0 ? static_cast<int>(random_.below(2000)) - 1000 : 0;
    const double x = std::ldexp(random_.normal(), size),
                 y = std::ldexp(random_.normal(), size - static_cast<int>(random_.below(30)));
    mpfr_set_d(a_, x, MPFR_RNDN);
    mpfr_set_d(b_, y, MPFR_RNDN);
    mpfr_hypot(c_, a_, b_, MPFR_RNDN);
    EXPECT_EQ(hypot(x, y), mpfr_get_d(c_, MPFR_RNDN)) << x << " " << y;
  }
  const double nan = std::nan("");
  EXPECT_EQ(hypot(0, -0.0), 0);
  EXPECT_EQ(hypot(-kInfinity, nan), kInfinity);
  EXPECT_TRUE(std::isnan(hypot(nan, 1)));
  EXPECT_EQ(hypot(0x1p1023, 0x1p1023), 0x1.6a09e667f3bcdp1023);
  EXPECT_EQ(hypot(0x1.fp1023, 0x1.fp1023), kInfinity);
  EXPECT_EQ(hypot(-0x1p-1074, 0), 0x1p-1074);
}

}  // namespace
}  // namespace assay
