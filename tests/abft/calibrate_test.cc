// e_max is the largest relative difference between two ways to compute a row's checksum. The tests
// compare it with loops of fused multiply-adds that compute both ways.
#include "assay/abft/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/tensor/distribution.h"
#include "error_of.h"

namespace assay::abft {
namespace {

CalibrationPlan plan_of(const char* dtype, std::int64_t trials) {
  CalibrationPlan plan;
  plan.machine = &machine_named("cpu_fma");
  plan.dtype = &format_named(dtype);
  plan.m = 13;
  plan.k = 29;
  plan.n = 7;
  plan.trials = trials;
  plan.seed = 12;
  return plan;
}

// Returns the product of two row-major arrays, as a processor's chain of float32 gives it.
std::vector<double> multiplied(const Format& f, std::int64_t rows, std::int64_t columns,
                               std::int64_t depth, const std::vector<double>& x,
                               const std::vector<double>& y) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < depth; ++k) {
        sum = std::fma(static_cast<float>(x[at(i * depth + k)]),
                       static_cast<float>(y[at(k * columns + j)]), sum);
      }
      out.push_back(round_to(f, static_cast<double>(sum)));
    }
  }
  return out;
}

// Returns the signed relative differences of all rows, in the order of the trials.
std::vector<double> errors_of(const CalibrationPlan& p, const char* inputs) {
  std::vector<double> errors;
  const std::vector<double> ones(at(p.n), 1.0);
  for (std::int64_t trial = 0; trial < p.trials; ++trial) {
    const auto operand = [&](const Shape& shape, std::uint64_t number) {
      const std::uint64_t stream = substream(static_cast<std::uint64_t>(trial), number);
      return draw(parse_distribution(inputs), *p.dtype, shape, p.seed, stream, 1).view().values();
    };
    const auto a = operand({p.m, p.k}, 1), b = operand({p.k, p.n}, 2);
    const Format& f = *p.dtype;
    const auto c = multiplied(f, p.m, p.n, p.k, a, b);
    const auto rows = multiplied(f, p.m, 1, p.n, c, ones);
    const auto sums = multiplied(f, p.m, 1, p.k, a, multiplied(f, p.k, 1, p.n, b, ones));
    for (std::int64_t i = 0; i < p.m; ++i) {
      errors.push_back((rows[at(i)] - sums[at(i)]) / std::abs(sums[at(i)]));
    }
  }
  return errors;
}

TEST(Calibrate, IsTheLargestDifferenceOfTheTwoWays) {
  const struct {
    const char *dtype, *drawn;
    CalibrationInputs inputs;
  } rows[] = {
      {"float32", "normal,mean=1", CalibrationInputs::kNormal},
      {"float32", "folded_normal,mean=1", CalibrationInputs::kFolded},
      {"bfloat16", "folded_normal,shift=0.5", CalibrationInputs::kShifted},
      {"float16", "normal,mean=1,scale=0.01", CalibrationInputs::kNormal},
      // Shifted float16 operands are scaled by sqrt(65504 / (4 K N)) if that is below 1. Here K is
      // 29 and N is 7, so it is above 1, and the operands are not scaled.
      {"float16", "folded_normal,shift=0.5", CalibrationInputs::kShifted},
  };
  for (const auto& row : rows) {
    CalibrationPlan plan = plan_of(row.dtype, 8);
    plan.inputs = row.inputs;
    const std::vector<double> errors = errors_of(plan, row.drawn);
    double largest = 0, sum = 0, squares = 0;
    for (const double e : errors) {
      largest = std::max(largest, std::abs(e));
      sum += e;
      squares += e * e;
    }
    const auto n = static_cast<double>(errors.size());
    const double deviation = std::sqrt(squares / n - sum / n * (sum / n));
    const Calibration found = calibrate(plan);
    EXPECT_EQ(found.rows, 104);
    EXPECT_EQ(found.skipped, 0);
    EXPECT_GT(largest, 0) << row.dtype;
    EXPECT_EQ(found.e_max, largest) << row.dtype << " " << row.drawn;
    EXPECT_NEAR(found.mean, sum / n, 1e-12 * largest);
    EXPECT_NEAR(found.deviation, deviation, 1e-9 * largest);
    EXPECT_NEAR(found.predicted, std::abs(sum / n) + 5.45 * deviation, 1e-8 * largest);
    plan.threads = 3;
    EXPECT_EQ(calibrate(plan).mean, found.mean) << "other threads";
    plan.seed = 13;
    EXPECT_NE(calibrate(plan).mean, found.mean) << "another seed";
  }
}

// Float16 sums of 4096 x 16 would overflow: the operands are scaled by sqrt(65504 / (4 K N)).
TEST(Calibrate, ShiftedFloat16IsScaledIntoItsRange) {
  CalibrationPlan plan = plan_of("float16", 1);
  plan.inputs = CalibrationInputs::kShifted;
  plan.k = 4096;
  plan.n = 16;
  const Calibration found = calibrate(plan);
  EXPECT_EQ(found.skipped, 0);
  const std::string scale = number_text(std::sqrt(65504 / (4.0 * 4096 * 16)));
  const std::vector<double> errors =
      errors_of(plan, formatted("folded_normal,shift=0.5,scale={}", scale).c_str());
  double largest = 0;
  for (const double e : errors) largest = std::max(largest, std::abs(e));
  EXPECT_EQ(found.e_max, largest);
}

// A product that fits as it is, here 64 x 128, is not scaled up to fill the range.
TEST(Calibrate, ShiftedFloat16IsNotScaledUp) {
  CalibrationPlan plan = plan_of("float16", 4);
  plan.inputs = CalibrationInputs::kShifted;
  plan.k = 64;
  plan.n = 128;
  const Calibration found = calibrate(plan);
  EXPECT_EQ(found.skipped, 0);
  double largest = 0, sum = 0;
  for (const double e : errors_of(plan, "folded_normal,shift=0.5")) {
    largest = std::max(largest, std::abs(e));
    sum += e;
  }
  EXPECT_EQ(found.e_max, largest);
  EXPECT_NEAR(found.mean, sum / (4 * 13), 1e-12 * largest);
}

// The largest float16 is 65504. Sums of 64 x 2^12 ones or more are infinite. They are left out and
// counted.
TEST(Calibrate, WhatIsNotFiniteIsLeftOutAndCounted) {
  CalibrationPlan plan = plan_of("float16", 2);
  plan.inputs = CalibrationInputs::kFolded;
  plan.k = 4096;
  plan.n = 64;
  const Calibration found = calibrate(plan);
  EXPECT_EQ(found.skipped, 26);
  EXPECT_EQ(found.rows, 0);
  EXPECT_EQ(found.e_max, 0);
  EXPECT_EQ(found.predicted, 0);
}

// Sums of 182 x 182 products with a mean of 1.36 are some 45000, with a deviation of 5 percent.
// Each of them fits into float16, but twice the sum does not.
TEST(Calibrate, SumsJustWithinTheRangeAreCounted) {
  CalibrationPlan plan = plan_of("float16", 2);
  plan.inputs = CalibrationInputs::kFolded;
  plan.k = plan.n = 182;
  const Calibration found = calibrate(plan);
  EXPECT_EQ(found.skipped, 0);
  EXPECT_EQ(found.rows, 26);
}

TEST(Calibrate, Refusals) {
  const auto error = [](CalibrationPlan plan) { return error_of([&] { calibrate(plan); }); };
  CalibrationPlan plan = plan_of("float32", 0);
  EXPECT_EQ(error(plan),
            "a calibration needs M, K, N and trials of at least 1; given 13, 29, 7 and 0");
  for (std::int64_t CalibrationPlan::*size :
       {&CalibrationPlan::m, &CalibrationPlan::k, &CalibrationPlan::n}) {
    plan = plan_of("float32", 1);
    plan.*size = 0;
    EXPECT_TRUE(error(plan).starts_with("a calibration needs M, K, N and trials"));
    plan.*size = 1;
    EXPECT_EQ(error(plan), "no error");
  }
  plan = plan_of("float32", 1);
  plan.machine = &machine_named("exact");
  EXPECT_TRUE(error(plan).starts_with("machine exact is the reference")) << error(plan);
  plan = plan_of("int8", 1);
  plan.machine = &machine_named("hopper");
  EXPECT_EQ(error(plan),
            "int8 products are exact, so that there is no e_max to measure; choose a float dtype");
}

TEST(Calibrate, WordsOfInputs) {
  EXPECT_EQ(inputs_word(CalibrationInputs::kNormal), "normal");
  EXPECT_EQ(inputs_word(CalibrationInputs::kFolded), "folded");
  EXPECT_EQ(inputs_word(CalibrationInputs::kShifted), "shifted");
}

// Float16 operands are scaled by 0.01. Their products are then near float16's subnormal numbers, so
// that another scale would give another e_max.
TEST(Calibrate, Float16IsScaledByAHundredth) {
  CalibrationPlan plan = plan_of("float16", 6);
  plan.k = 1;
  const auto largest = [&](const char* inputs) {
    double most = 0;
    for (const double e : errors_of(plan, inputs)) most = std::max(most, std::abs(e));
    return most;
  };
  const Calibration found = calibrate(plan);
  EXPECT_EQ(found.skipped, 0);
  EXPECT_EQ(found.e_max, largest("normal,mean=1,scale=0.01"));
  EXPECT_NE(found.e_max, largest("normal,mean=1,scale=0.02"));
}

}  // namespace
}  // namespace assay::abft
