// Tests the vector unit's functions against MPFR, and their array versions against the scalar
// oracle.
#include "assay/machine/functions.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "assay/simd/targets.h"
#include "vector_inputs.h"

namespace assay {
namespace {

using vectors::all_units;
using vectors::kFunctions;
using vectors::same;
using vectors::text_of;
using vectors::unit_of;

double float64_of(VectorOp op, double x) { return vector_oracle(unit_of("float64"), op, x); }

class Mpfr {
 public:
  Mpfr() {
    mpfr_init2(x_, 53);
    mpfr_init2(wide_, 160);
  }
  ~Mpfr() {
    mpfr_clear(x_);
    mpfr_clear(wide_);
  }
  Mpfr(const Mpfr&) = delete;
  Mpfr& operator=(const Mpfr&) = delete;

  // Returns f(x), computed in 160 bits.
  mpfr_srcptr function(VectorOp op, double x) {
    mpfr_set_d(x_, x, MPFR_RNDN);
    switch (op) {
      case VectorOp::kExp:
        mpfr_exp(wide_, x_, MPFR_RNDN);
        break;
      case VectorOp::kLog:
        mpfr_log(wide_, x_, MPFR_RNDN);
        break;
      case VectorOp::kSqrt:
        mpfr_sqrt(wide_, x_, MPFR_RNDN);
        break;
      case VectorOp::kRsqrt:
        mpfr_rec_sqrt(wide_, x_, MPFR_RNDN);
        break;
      case VectorOp::kTanh:
        mpfr_tanh(wide_, x_, MPFR_RNDN);
        break;
      default:
        mpfr_erf(wide_, x_, MPFR_RNDN);
        break;
    }
    return wide_;
  }
  // Returns the result rounded once. The value is first rounded toward zero in float64. If that is
  // inexact, its last bit is set, and a following rounding to 24 bits or fewer gives the right
  // result.
  double rounded(const Format& f, VectorOp op, double x) {
    mpfr_srcptr exact = function(op, x);
    double odd = mpfr_get_d(exact, MPFR_RNDZ);
    if (std::isfinite(odd) && mpfr_cmp_d(exact, odd) != 0) {
      odd = std::bit_cast<double>(std::bit_cast<std::uint64_t>(odd) | 1);
    }
    return round_to(f, odd);
  }
  // Returns |value - f(x)| in ulps of float64.
  double ulps(VectorOp op, double x, double value) {
    mpfr_srcptr exact = function(op, x);
    const double nearest = mpfr_get_d(exact, MPFR_RNDN);
    if (!std::isfinite(nearest) || !std::isfinite(value)) return same(nearest, value) ? 0 : 1e9;
    mpfr_sub_d(wide_, exact, value, MPFR_RNDN);
    return std::abs(mpfr_get_d(wide_, MPFR_RNDN)) / ulp_of(format_named("float64"), nearest);
  }

 private:
  mpfr_t x_, wide_;
};

// 1/sqrt(-0) is not compared: MPFR says +infinity, IEEE 754 -infinity.
bool is_minus_zero(double x) { return x == 0 && std::signbit(x); }

// The functions of every float16 number in float16, and of every bfloat16 number in float32, are
// correctly rounded.
TEST(FunctionsTest, Of16BitsAreCorrectlyRounded) {
  Mpfr mpfr;
  for (const VectorOp op : kFunctions) {
    for (const bool half : {true, false}) {
      const Format& input = format_named(half ? "float16" : "bfloat16");
      const auto unit = unit_of(half ? "float16" : "float32");
      int mismatches = 0;
      for (std::uint64_t bits = 0; bits < 65536; ++bits) {
        const double x = decode(input, bits);
        if (op == VectorOp::kRsqrt && is_minus_zero(x)) continue;
        const double ours = vector_oracle(unit, op, x);
        const double theirs = mpfr.rounded(*unit.format, op, x);
        if (!same(ours, theirs) && ++mismatches < 4) {
          ADD_FAILURE() << static_cast<int>(op) << std::hexfloat << " of " << x << ": " << ours
                        << ", not " << theirs;
        }
      }
      EXPECT_EQ(mismatches, 0) << static_cast<int>(op);
    }
  }
}

// Returns the points that are hard for functions: near 0 and 1, and points of overflow, underflow,
// saturation and cancellation.
std::vector<double> hard_points(const Format& f, int count, std::uint64_t stream) {
  Random random(60, stream);
  const double ends[] = {0.0,           -0.0,          kInfinity,  -kInfinity,    kNan,
                         1.0,           -1.0,          0.5,        88.72283,      -87.33655,
                         -103.97208,    -104.0,        709.78271,  -745.13321,    -708.3964,
                         6.0,           3.9192059,     8.8,        9.0109,        22.0,
                         -746.0,        710.0,         0.34657359, min_normal(f), min_subnormal(f),
                         max_finite(f), -max_finite(f)};
  std::vector<double> points;
  for (int i = 0; i < count; ++i) {
    double x = decode(f, random.next64() >> (64 - f.bits));
    const double size = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(40)) - 30);
    const double sign = random.below(2) != 0 ? 1 : -1;
    switch (random.below(6)) {
      case 0:
        break;
      case 1:
        x = sign * size;
        break;
      case 2:
        x = 1 + sign * size;
        break;
      case 3: {
        x = round_to(f, ends[random.below(std::size(ends))]);
        std::uint64_t bits = encode(f, x);
        for (std::uint64_t step = random.below(4); step > 0; --step) {
          bits = sign > 0 ? next_up(f, bits) : next_down(f, bits);
        }
        x = decode(f, bits);
        break;
      }
      case 4:
        x = 200 * random.uniform() - 100;
        break;
      default:
        x = sign * std::ldexp(random.uniform(), f.min_exponent());
        break;
    }
    points.push_back(round_to(f, x));
  }
  return points;
}

TEST(FunctionsTest, Float64IsWithinAFewUlps) {
  Mpfr mpfr;
  for (const VectorOp op : kFunctions) {
    double worst = 0;
    for (const double x : hard_points(format_named("float64"), 20000, 1)) {
      if (op == VectorOp::kRsqrt && is_minus_zero(x)) continue;
      const double ulps = mpfr.ulps(op, x, float64_of(op, x));
      EXPECT_LE(ulps, op == VectorOp::kTanh ? 2.5 : 1.5)
          << static_cast<int>(op) << std::hexfloat << " of " << x;
      worst = std::max(worst, ulps);
    }
    RecordProperty("worst_ulps_" + std::to_string(static_cast<int>(op)), std::to_string(worst));
  }
}

TEST(FunctionsTest, Float32IsCorrectlyRounded) {
  Mpfr mpfr;
  const auto unit = unit_of("float32");
  for (const VectorOp op : kFunctions) {
    int mismatches = 0;
    for (const double x : hard_points(*unit.format, 40000, 2)) {
      if (op == VectorOp::kRsqrt && is_minus_zero(x)) continue;
      mismatches += same(vector_oracle(unit, op, x), mpfr.rounded(*unit.format, op, x)) ? 0 : 1;
    }
    EXPECT_EQ(mismatches, 0) << static_cast<int>(op);
  }
}

TEST(FunctionsTest, SpecialValues) {
  EXPECT_TRUE(same(float64_of(VectorOp::kExp, -kInfinity), 0.0));
  EXPECT_EQ(float64_of(VectorOp::kExp, 0), 1);
  EXPECT_EQ(float64_of(VectorOp::kExp, kInfinity), kInfinity);
  EXPECT_EQ(float64_of(VectorOp::kLog, -0.0), -kInfinity);
  EXPECT_EQ(float64_of(VectorOp::kLog, 1), 0);
  EXPECT_TRUE(std::isnan(float64_of(VectorOp::kLog, -1)));
  EXPECT_TRUE(same(float64_of(VectorOp::kSqrt, -0.0), -0.0));
  EXPECT_EQ(float64_of(VectorOp::kRsqrt, -0.0), -kInfinity);
  EXPECT_EQ(float64_of(VectorOp::kRsqrt, kInfinity), 0);
  for (const VectorOp op : {VectorOp::kTanh, VectorOp::kErf}) {
    EXPECT_TRUE(same(float64_of(op, -0.0), -0.0));
    EXPECT_EQ(float64_of(op, -kInfinity), -1);
  }
  for (const VectorOp op : kFunctions) EXPECT_TRUE(std::isnan(float64_of(op, kNan)));
  // The sign of an input NaN is kept.
  for (const double sign : {1.0, -1.0}) {
    const double nan = std::copysign(kNan, sign);
    EXPECT_EQ(std::signbit(tanh_float64(nan)), sign < 0);
    EXPECT_EQ(std::signbit(erf_float64(nan)), sign < 0);
  }
  // A new NaN has no sign, on every processor.
  EXPECT_FALSE(std::signbit(log_float64(-1)));
  EXPECT_FALSE(std::signbit(log_float64(-kInfinity)));
  const auto saturating = unit_of("float16", Overflow::kSaturate, Subnormals::kFlush);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kExp, 12), 65504);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kLog, 0), -65504);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kLog, -1), 0);
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kRsqrt, 0x1p-24), 65504);  // of a flushed 0
  EXPECT_EQ(vector_oracle(saturating, VectorOp::kExp, -10), 0);            // 2^-14.4 is flushed
}

class FunctionsOnTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};
INSTANTIATE_TEST_SUITE_P(Functions, FunctionsOnTarget, testing::ValuesIn(simd::available_targets()),
                         [](const auto& row) { return row.param; });

template <typename T>
void expect_oracle(const VectorArithmetic& unit, VectorOp op, const std::vector<double>& x) {
  std::vector<T> values(x.begin(), x.end());
  vector_apply(unit, op, static_cast<std::int64_t>(values.size()), values.data(), values.data(),
               values.data(), values.data());
  int mismatches = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = vector_oracle(unit, op, x[i]);
    if (!same(static_cast<double>(values[i]), expected) && ++mismatches < 4) {
      ADD_FAILURE() << text_of(unit) << " " << static_cast<int>(op) << std::hexfloat << " of "
                    << x[i] << ": " << values[i] << ", not " << expected;
    }
  }
  EXPECT_EQ(mismatches, 0) << text_of(unit) << " " << static_cast<int>(op);
}

TEST_P(FunctionsOnTarget, ArraysAreTheOracleElementByElement) {
  std::uint64_t stream = 10;
  for (const VectorArithmetic& unit : all_units()) {
    if (!unit.fused) continue;
    for (const VectorOp op : kFunctions) {
      const auto x = hard_points(*unit.format, 3001, stream++);
      expect_oracle<double>(unit, op, x);
      if (fits_float32(unit)) expect_oracle<float>(unit, op, x);
    }
  }
}

TEST_P(FunctionsOnTarget, EveryFloat16) {
  std::vector<double> all;
  for (std::uint64_t bits = 0; bits < 65536; ++bits) {
    all.push_back(decode(format_named("float16"), bits));
  }
  for (const VectorOp op : kFunctions) expect_oracle<float>(unit_of("float16"), op, all);
}

}  // namespace
}  // namespace assay
