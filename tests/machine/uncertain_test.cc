// Tests the theory of random errors against the scalar oracle of the same machines. Sums of drawn
// operands must have the mean and variance of the theory.
#include "assay/machine/uncertain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>
#include <vector>

#include "assay/base/random.h"
#include "assay/machine/dot.h"
#include "assay/machine/exact_matmul.h"
#include "assay/machine/exact_sum.h"

namespace assay {
namespace {

TEST(Uncertain, LowestBitIsThatOfTheValue) {
  EXPECT_EQ(Uncertain::lowest_bit(1), 0);
  EXPECT_EQ(Uncertain::lowest_bit(-12), 2);
  EXPECT_EQ(Uncertain::lowest_bit(0.15625), -5);
  EXPECT_EQ(Uncertain::lowest_bit(0x1.8p-149), -150);
  EXPECT_EQ(Uncertain::lowest_bit(0), Uncertain::kAnyGrid);
}

// Rounds numbers with every possible remainder once. The mean and variance of their errors are
// those of the formulas.
TEST(Uncertain, RoundingHasTheMomentsOfItsRemainders) {
  const Format& half = format_named("float16");
  for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kNearestAway,
                                  Rounding::kTowardZero, Rounding::kUp, Rounding::kDown}) {
    for (const int bits : {1, 2, 3, 6}) {
      for (const double sign : {1.0, -1.0}) {
        const double unit = 0x1p-10, part = std::ldexp(unit, -bits);
        double mean = 0, square = 0;
        // The numbers go from an even multiple of the unit to the next even one.
        const int count = 2 << bits;
        for (int i = 0; i < count; ++i) {
          const double value = sign * (1.5 + i * part);
          const double error = round_to(half, value, rounding) - value;
          mean += error / count;
          square += error * error / count;
        }
        Uncertain number{.value = sign * 1.5, .grid = Uncertain::lowest_bit(part)};
        number.round(RoundingStep(half, rounding));
        SCOPED_TRACE(std::string(rounding_name(rounding)) + " " + std::to_string(bits));
        EXPECT_NEAR(number.mean, mean, 1e-12);
        EXPECT_NEAR(number.variance, square - mean * mean, 1e-15);
        EXPECT_EQ(number.grid, -10);
      }
    }
  }
}

// Rounds only odd multiples of the smallest part, because the lowest bit of an exact number is
// known to be 1. The mean and variance of their errors are those of the formulas, too.
TEST(Uncertain, RoundingOfOddMultiplesHasTheirMoments) {
  const Format& half = format_named("float16");
  for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kNearestAway,
                                  Rounding::kTowardZero, Rounding::kUp, Rounding::kDown}) {
    for (const int bits : {1, 2, 5}) {
      const double part = std::ldexp(0x1p-10, -bits);
      double mean = 0, square = 0;
      const int count = 2 << bits;
      for (int i = 1; i < count; i += 2) {
        const double error = round_to(half, 1.5 + i * part, rounding) - (1.5 + i * part);
        mean += 2 * error / count;
        square += 2 * error * error / count;
      }
      Uncertain number{.value = 1.5 + part, .grid = Uncertain::lowest_bit(part), .odd = true};
      number.round(RoundingStep(half, rounding));
      SCOPED_TRACE(std::string(rounding_name(rounding)) + " " + std::to_string(bits));
      EXPECT_NEAR(number.mean, mean, 1e-12);
      EXPECT_NEAR(number.variance, square - mean * mean, 1e-15);
    }
  }
}

// Division by a power of two moves the known lowest bit of a number. For any other quotient, the
// lowest bit is unknown.
TEST(Uncertain, QuotientsByPowersOfTwoAreExact) {
  Uncertain number = Uncertain::exact(3);
  number.divide_by(-4);
  EXPECT_EQ(number.value, -0.75);
  EXPECT_EQ(number.grid, -2);
  EXPECT_TRUE(number.known && number.odd);
  Uncertain third = Uncertain::exact(3);
  third.divide_by(6);
  EXPECT_LT(third.grid, -1074);
  EXPECT_FALSE(third.known || third.odd);
}

// For a quotient, the mean of the error is divided as well, and the variance is divided by the
// square.
TEST(Uncertain, ErrorsAreDividedWithTheNumber) {
  for (const double divisor : {4.0, -10.0}) {
    Uncertain number{.value = 3, .grid = 0, .mean = 0.5, .variance = 2};
    number.divide_by(divisor);
    EXPECT_DOUBLE_EQ(number.value, 3 / divisor);
    EXPECT_DOUBLE_EQ(number.mean, 0.5 / divisor);
    EXPECT_DOUBLE_EQ(number.variance, 2 / (divisor * divisor));
  }
}

// While nothing is rounded, the lowest bit of a sum is known.
TEST(Uncertain, SumsOfExactNumbersAreExact) {
  Uncertain sum = Uncertain::exact(0.75);
  sum.add(Uncertain::exact(0.25));
  EXPECT_EQ(sum.grid, 0);
  EXPECT_TRUE(sum.known && sum.odd);
  sum.add(Uncertain::exact(-1));
  EXPECT_EQ(sum.grid, Uncertain::kAnyGrid);
  Uncertain wide = Uncertain::exact(1);
  wide.add(Uncertain::exact(0x1p-60));
  EXPECT_EQ(wide.grid, -60);
  EXPECT_FALSE(wide.known);
}

TEST(Uncertain, MultiplesOfTheUnitHaveNoError) {
  Uncertain number{.value = 3, .grid = 0};
  number.round(RoundingStep(format_named("bfloat16")));
  EXPECT_EQ(number.variance, 0);
  Uncertain zero;
  zero.round(RoundingStep(format_named("bfloat16")));
  EXPECT_EQ(zero.variance, 0);
}

// A number below half a unit is lost, and this loss is not random.
TEST(Uncertain, WhatIsBelowHalfAUnitIsLost) {
  Uncertain number = Uncertain::inexact(0x1.3p-27);
  number.round(RoundingStep(format_named("float16")));
  EXPECT_EQ(number.mean, -0x1.3p-27);
  EXPECT_EQ(number.variance, 0);
}

using SumCase = std::tuple<const char*, const char*, double>;  // machine, input, mean of operands

class SumErrorsOfMachines : public testing::TestWithParam<SumCase> {};

TEST_P(SumErrorsOfMachines, HaveTheMomentsOfTheOracle) {
  const auto& [name, input, shift] = GetParam();
  const DotModel& model = dot_model(machine_named(name), format_named(input));
  constexpr std::int64_t kM = 32, kN = 32, kK = 300;
  Random random(7, 1);
  const Format& f = format_named(input);
  const auto drawn = [&, mean = shift](std::int64_t n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (double& v : values) v = round_to(f, mean + random.normal());
    return values;
  };
  const std::vector<double> a = drawn(kM * kK), b = drawn(kK * kN);
  std::vector<float> sums(kM * kN, 0.0f);
  dot_matmul(model, kM, kN, kK, a.data(), b.data(), sums.data());
  std::vector<double> exact(kM * kN, 0.0);
  exact_matmul(kM, kN, kK, a.data(), b.data(), exact.data());
  const SumErrors errors = sum_errors(model, kM, kN, kK, a, b, {}, StartOfSum::kFirst, false);
  double squares = 0, variance = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = static_cast<double>(sums[i]) - exact[i] - errors.mean[i];
    squares += error * error;
    variance += errors.variance[i];
    EXPECT_LE(std::abs(error), 8 * std::sqrt(errors.variance[i]));
  }
  // For 1024 sums, the mean square of normal errors is within 0.22 of 1, except in one of a million
  // cases.
  EXPECT_NEAR(squares / variance, 1, 0.22);
}

INSTANTIATE_TEST_SUITE_P(
    Machines, SumErrorsOfMachines,
    testing::Values(SumCase{"ascend910b", "float16", 0.0}, SumCase{"ascend910b", "float32", 0.0},
                    SumCase{"ascend910b", "float32", 1.0}, SumCase{"cpu_fma", "float32", 0.0},
                    SumCase{"cpu_mul_add", "float32", 1.0}, SumCase{"cpu_fma", "bfloat16", 0.0},
                    SumCase{"hopper", "float16", 0.0}, SumCase{"hopper", "bfloat16", 0.0},
                    SumCase{"hopper", "tfloat32", 0.0}, SumCase{"ampere", "float16", 0.0},
                    SumCase{"volta", "float16", 0.0},
                    SumCase{"ascend910b,order=pairwise", "float32", 0.0},
                    SumCase{"ascend910b,order=sequential", "float32", 0.0},
                    SumCase{"cpu_fma,promotion_interval=64", "float32", 0.0}));

// Integers are summed exactly, and the theory knows it.
TEST(SumErrorsOfIntegers, AreNone) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  const std::vector<double> a = {1, -2, 3, 4}, b = {5, 6, -7, 8};
  const SumErrors errors = sum_errors(model, 1, 1, 4, a, b, {}, StartOfSum::kFirst, false);
  EXPECT_THAT(errors.mean, testing::ElementsAre(0));
  EXPECT_THAT(errors.variance, testing::ElementsAre(0));
  EXPECT_FALSE(errors.flushes);
}

TEST(SumErrorsOfSubnormals, AreSaidToBeFlushed) {
  const Machine& machine = machine_named("cpu_fma,flush_inputs=1");
  const DotModel& model = dot_model(machine, format_named("float32"));
  EXPECT_TRUE(sum_errors(model, 1, 1, 1, {0x1p-140}, {1}, {}, StartOfSum::kFirst, false).flushes);
  EXPECT_FALSE(sum_errors(model, 1, 1, 1, {0x1p-120}, {1}, {}, StartOfSum::kFirst, false).flushes);
}

// If the output shows the last rounding, this rounding is left out. A bias that is added last has
// its own rounding.
TEST(SumErrorsOfOneProduct, LeaveOutTheLastRounding) {
  const DotModel& model = dot_model(machine_named("cpu_fma"), format_named("float32"));
  const std::vector<double> a = {1 + 0x1p-23}, b = {1 + 0x1p-22};
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, false).variance[0], 0);
  EXPECT_EQ(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, true).variance[0], 0);
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {1}, StartOfSum::kAddedLast, true).variance[0], 0);
}

// A unit that flushes sums replaces a sum below the normal range by 0, even if its operands are not
// small.
TEST(SumErrorsOfSubnormals, SumsAreSaidToBeFlushed) {
  const auto flushes = [](const char* machine, double a, double b) {
    const DotModel& model = dot_model(machine_named(machine), format_named("float32"));
    return sum_errors(model, 1, 1, 1, {a}, {b}, {}, StartOfSum::kFirst, false).flushes;
  };
  EXPECT_TRUE(flushes("cpu_fma,flush_sums=1", 0x1p-80, 0x1p-60));
  EXPECT_FALSE(flushes("cpu_fma,flush_sums=1", 0x1p-60, 0x1p-60));
  EXPECT_FALSE(flushes("cpu_fma,flush_sums=1", 0, 1));
  EXPECT_FALSE(flushes("cpu_fma", 0x1p-80, 0x1p-60));
}

// If the products of a chunk are added one by one, only the last rounding, into the accumulator,
// may be left out. The roundings inside the chunk stay. Here an odd multiple of 2^-45 is rounded to
// 2^-23.
TEST(SumErrorsOfOneProduct, ChunksAreRoundedInside) {
  const DotModel& model =
      dot_model(machine_named("ascend910b,order=sequential"), format_named("float32"));
  ASSERT_GT(model.chunk.value, 1);
  const SumErrors errors =
      sum_errors(model, 1, 1, 1, {1 + 0x1p-23}, {1 + 0x1p-22}, {}, StartOfSum::kFirst, true);
  EXPECT_DOUBLE_EQ(errors.variance[0], 0x1p-46 / 12 * (1 - 4 * 0x1p-44));
}

// A part is rounded in the accumulator before it is promoted. This also holds if the promotion is
// the last rounding and is left out.
TEST(SumErrorsOfOneProduct, PartsAreRoundedBeforeThePromotion) {
  const DotModel& model =
      dot_model(machine_named("cpu_fma,promotion_interval=4"), format_named("float32"));
  const std::vector<double> a = {1 + 0x1p-23}, b = {1 + 0x1p-22};
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, true).variance[0], 0);
}

// Terms are aligned to the largest term of their own chunk. The position of a large product in the
// next chunk does not affect them.
TEST(SumErrorsOfJoinedSums, ChunksAreAlignedByThemselves) {
  const DotModel& model = dot_model(machine_named("cdna3"), format_named("float16"));
  ASSERT_EQ(model.chunk.value, 8);
  const auto errors = [&](std::size_t large) {
    std::vector<double> a(16, 0.0), b(16, 0.0);
    for (std::size_t i = 0; i < 8; ++i) a[i] = b[i] = 1 + 0x1p-10;
    a[large] = b[large] = 0x1p12;
    return sum_errors(model, 1, 1, 16, a, b, {}, StartOfSum::kFirst, false);
  };
  EXPECT_EQ(errors(8).variance, errors(9).variance);
  EXPECT_EQ(errors(8).mean, errors(9).mean);
  EXPECT_NE(errors(7).variance, errors(8).variance) << "in the same chunk it is not";
}

// A unit loses exactly the bits that lie farther below a chunk than it reaches. For 8-bit floats,
// it reaches 25 binary places.
TEST(SumErrorsOfJoinedSums, LoseWhatIsOutOfReach) {
  const DotModel& model = dot_model(machine_named("cdna3"), format_named("float8_e4m3fnuz"));
  ASSERT_EQ(model.chunk.value, 16);
  ASSERT_EQ(model.reach.value, 25);
  const auto errors = [&](double first, double second) {
    std::vector<double> a(17, 0.0), b(17, 0.0);
    a[0] = b[0] = first;
    a[16] = b[16] = second;
    return sum_errors(model, 1, 1, 17, a, b, {}, StartOfSum::kFirst, true);
  };
  for (const double first : {1.0, 0x1p-5}) {
    EXPECT_EQ(errors(first, 1).mean[0], 0) << first;
    EXPECT_EQ(errors(first, 1).variance[0], 0) << first;
  }
  EXPECT_EQ(errors(0x1p-7, 64).mean[0], -0x1p-14);  // 26 below 2^12
}

}  // namespace
}  // namespace assay
