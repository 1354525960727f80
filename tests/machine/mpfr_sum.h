// Sums of products by MPFR, without rounding until the end.
#pragma once

#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace assay::oracle {

class MpfrSum {
 public:
  // The default precision is wide enough for products of any two float64 within 2^+-600 of each
  // other.
  explicit MpfrSum(mpfr_prec_t precision = 2400) {
    mpfr_init2(sum_, precision);
    mpfr_init2(product_, 110);
    clear();
  }
  ~MpfrSum() {
    mpfr_clear(sum_);
    mpfr_clear(product_);
  }
  MpfrSum(const MpfrSum&) = delete;
  MpfrSum& operator=(const MpfrSum&) = delete;

  void clear() { mpfr_set_zero(sum_, 1); }
  void add_product(double a, double b) {
    mpfr_set_d(product_, a, MPFR_RNDN);
    mpfr_mul_d(product_, product_, b, MPFR_RNDN);
    mpfr_add(sum_, sum_, product_, MPFR_RNDN);
  }
  void add(double v) { add_product(v, 1.0); }

  mpfr_srcptr get() const { return sum_; }
  double nearest() const { return mpfr_get_d(sum_, MPFR_RNDN); }
  // Returns the sum rounded once to float32, with subnormals and overflow.
  float nearest_float32() const { return mpfr_get_flt(sum_, MPFR_RNDN); }
  float float32(mpfr_rnd_t mode) const { return mpfr_get_flt(sum_, mode); }
  // Rounds toward zero, and sets the last bit if that is inexact.
  double to_odd() const {
    const double v = mpfr_get_d(sum_, MPFR_RNDZ);
    if (mpfr_cmp_d(sum_, v) == 0) return v;
    int exponent;
    const auto significand = static_cast<std::int64_t>(std::ldexp(std::frexp(v, &exponent), 53));
    // For a negative number in two's complement, this is not the last bit of its size. See below.
    const std::int64_t odd = significand | 1;
    if (v >= 0) return std::ldexp(static_cast<double>(odd), exponent - 53);
    return -std::ldexp(static_cast<double>((-significand) | 1), exponent - 53);
  }
  // Returns |v - sum| in units of the last place of the sum rounded to float64.
  double ulps_from(double v) {
    const double exact = nearest();
    mpfr_set_prec(product_, 2400);
    mpfr_sub_d(product_, sum_, v, MPFR_RNDN);
    const double error = std::abs(mpfr_get_d(product_, MPFR_RNDN));
    mpfr_set_prec(product_, 110);
    if (error == 0) return 0;
    const double ulp =
        exact == 0 ? 0x1p-1074 : std::nextafter(std::abs(exact), INFINITY) - std::abs(exact);
    return error / ulp;
  }

 private:
  mpfr_t sum_, product_;
};

}  // namespace assay::oracle
