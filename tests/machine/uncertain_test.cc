// The theory of chance errors against the scalar oracle of the same machines: the sums of drawn
// operands have the mean and variance that it says.
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

// Every remainder once: mean and variance of a rounding are those of the formulas.
TEST(Uncertain, RoundingHasTheMomentsOfItsRemainders) {
  const Format& half = format_named("float16");
  for (const Rounding rounding : {Rounding::kNearestEven, Rounding::kNearestAway,
                                  Rounding::kTowardZero, Rounding::kUp, Rounding::kDown}) {
    for (const int bits : {1, 2, 3, 6}) {
      for (const double sign : {1.0, -1.0}) {
        const double unit = 0x1p-10, part = std::ldexp(unit, -bits);
        double mean = 0, square = 0;
        const int count = 2 << bits;  // from an even multiple to the next
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

// The same of odd multiples alone, as the lowest bit of an exact number is known to be one.
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

// A power of two moves the lowest bit of a number, and leaves it known; of any other quotient
// nothing is known.
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

// A quotient has the mean of its error divided as well, and the variance by the square.
TEST(Uncertain, ErrorsAreDividedWithTheNumber) {
  for (const double divisor : {4.0, -10.0}) {
    Uncertain number{.value = 3, .grid = 0, .mean = 0.5, .variance = 2};
    number.divide_by(divisor);
    EXPECT_DOUBLE_EQ(number.value, 3 / divisor);
    EXPECT_DOUBLE_EQ(number.mean, 0.5 / divisor);
    EXPECT_DOUBLE_EQ(number.variance, 2 / (divisor * divisor));
  }
}

// As long as nothing is rounded the lowest bit of a sum is known.
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

// Less than half a unit is lost, and nothing about that is chance.
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
  // 1024 sums: the mean square of normal errors is within 0.22 of 1 but for one in a million.
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

// Integers are summed exactly: theory knows that.
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

// A last rounding that the output shows is left out; a bias that is added last has its own.
TEST(SumErrorsOfOneProduct, LeaveOutTheLastRounding) {
  const DotModel& model = dot_model(machine_named("cpu_fma"), format_named("float32"));
  const std::vector<double> a = {1 + 0x1p-23}, b = {1 + 0x1p-22};
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, false).variance[0], 0);
  EXPECT_EQ(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, true).variance[0], 0);
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {1}, StartOfSum::kAddedLast, true).variance[0], 0);
}

// A sum below the normal range is taken for 0 by a unit that flushes sums, though its operands are
// not small.
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

// Of a chunk whose products are added one by one, the last rounding that may be left out is where
// it meets the accumulator: those inside it are there. An odd multiple of 2^-45 is rounded to
// 2^-23.
TEST(SumErrorsOfOneProduct, ChunksAreRoundedInside) {
  const DotModel& model =
      dot_model(machine_named("ascend910b,order=sequential"), format_named("float32"));
  ASSERT_GT(model.chunk.value, 1);
  const SumErrors errors =
      sum_errors(model, 1, 1, 1, {1 + 0x1p-23}, {1 + 0x1p-22}, {}, StartOfSum::kFirst, true);
  EXPECT_DOUBLE_EQ(errors.variance[0], 0x1p-46 / 12 * (1 - 4 * 0x1p-44));
}

// Before it is promoted a part is rounded in the accumulator, also where the promotion, being the
// last rounding, is left out.
TEST(SumErrorsOfOneProduct, PartsAreRoundedBeforeThePromotion) {
  const DotModel& model =
      dot_model(machine_named("cpu_fma,promotion_interval=4"), format_named("float32"));
  const std::vector<double> a = {1 + 0x1p-23}, b = {1 + 0x1p-22};
  EXPECT_GT(sum_errors(model, 1, 1, 1, a, b, {}, StartOfSum::kFirst, true).variance[0], 0);
}

// Terms are aligned to the largest of their own chunk: where in the next one a large product stands
// is the same to them.
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

// What lies farther below a chunk than a unit reaches is lost, and nothing else is: 25 binary
// places of 8-bit floats.
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
