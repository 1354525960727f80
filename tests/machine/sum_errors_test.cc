// Compares the vector kernel of sum_errors() with its scalar oracle, on every machine and SIMD
// target.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/sum_errors_oracle.h"
#include "assay/machine/uncertain.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

// Variants of machines with parameters that no row of the table has.
constexpr const char* kVariants[] = {
    "ascend910b,order=sequential,chunk=6,flush_inputs=1,flush_sums=1",
    "ascend910b,order=sequential,round_products=1,chunk=5",
    "ascend910b,order=pairwise,chunk=12,rounding=down,promotion_interval=24",
    "ascend910b,order=pairwise,chunk=7",
    "ascend910b,accumulator=float16,rounding=nearest_away",
    "ascend910b,accumulator=bfloat16,rounding=to_odd,chunk=3",
    "ascend910b,round_products=1,rounding=up",
    "hopper,promotion_interval=64",
    "hopper,promotion_interval=40,rounding=nearest_even",
    "hopper,alignment=nearest_even,rounding=nearest_even",
    "hopper,alignment=down,rounding=up",
    "hopper,kept_bits=40",
    "hopper,chunk=1",
    "volta,flush_inputs=1,flush_sums=1",
    "cdna2,promotion_interval=16",
    "cdna3,interleave=3,reach=12",
    "cdna3,alignment=nearest_away,interleave=2",
    "cpu_fma,rounding=toward_zero",
    "cpu_fma,rounding=nearest_away",
    "cpu_fma,flush_sums=1,promotion_interval=8",
    "cpu_fma,accumulator=bfloat16",
    "cpu_mul_add,rounding=down",
};

std::vector<std::string> all_machines() {
  std::vector<std::string> names(std::begin(kVariants), std::end(kVariants));
  for (const Machine& machine : machines()) {
    if (machine.has_matrix_unit()) names.emplace_back(machine.name);
  }
  return names;
}

// Kinds of operands. Each uses a different part of the theory.
constexpr const char* kKinds[] = {"normal",    "one sign", "few bits", "many sizes",
                                  "subnormal", "sparse",   "constant", "cancelling"};

double drawn(const std::string& kind, const Format& f, std::int64_t i, Random& random) {
  const double x = random.normal();
  if (kind == "one sign") return std::abs(x) + 1;
  if (kind == "few bits") return static_cast<double>(random.below(9)) - 4;
  if (kind == "many sizes") return std::ldexp(x, static_cast<int>(random.below(41)) - 20);
  if (kind == "subnormal") return min_normal(f) * x;
  if (kind == "sparse") return random.below(4) == 0 ? x : 0;
  if (kind == "constant") return 1.1;
  if (kind == "cancelling") return i % 2 == 0 ? 1.3 : -1.3;
  return x;
}

std::vector<double> operand(const std::string& kind, const Format& f, std::int64_t n,
                            Random& random) {
  std::vector<double> values;
  const double most = max_finite(f);
  for (std::int64_t i = 0; i < n; ++i) {
    values.push_back(round_to(f, std::clamp(drawn(kind, f, i, random), -most, most)));
  }
  return values;
}

void expect_same(const std::vector<double>& got, const std::vector<double>& wanted,
                 const std::vector<double>& scale) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_LE(std::abs(got[i] - wanted[i]), 1e-12 * scale[i]) << i << ": " << wanted[i];
  }
}

class SumErrorsOfKernel : public testing::TestWithParam<std::string> {};

TEST_P(SumErrorsOfKernel, AreThoseOfTheOracle) {
  Random random(20261129, 3);
  const Machine& machine = machine_named(GetParam());
  for (const DotModel& model : machine.dots) {
    if (model.accumulator.value == "int32") continue;
    const Format &of_a = format_named(model.input), &of_b = format_named(model.b_input());
    for (const std::string kind : kKinds) {
      for (int shape = 0; shape < 6; ++shape) {
        const auto size = [&](std::uint64_t most) {
          return static_cast<std::int64_t>(1 + random.below(most));
        };
        const std::int64_t m = size(5), n = size(19), k = size(shape == 0 ? 3 : 150);
        const std::vector<double> a = operand(kind, of_a, m * k, random),
                                  b = operand(kind, of_b, k * n, random);
        std::vector<double> start;
        if (shape % 3 > 0) start = operand(kind, format_named("float64"), n, random);
        const StartOfSum starts = shape % 2 == 0 ? StartOfSum::kFirst : StartOfSum::kAddedLast;
        const bool without_last = random.below(2) == 0;
        SCOPED_TRACE(formatted("{}, {}, m = {}, n = {}, k = {}, shape {}, without_last {}",
                               model.input, kind, m, n, k, shape, without_last));
        const SumErrors wanted =
            sum_errors_oracle(model, m, n, k, a, b, start, starts, without_last);
        std::vector<double> scale;  // of the mean
        for (std::size_t i = 0; i < wanted.mean.size(); ++i) {
          scale.push_back(std::abs(wanted.mean[i]) + std::sqrt(wanted.variance[i]));
        }
        SumErrors best;
        for (const std::string& target : simd::available_targets()) {
          SCOPED_TRACE(target);
          simd::force_target(target);
          const SumErrors got = sum_errors(model, m, n, k, a, b, start, starts, without_last, 2);
          if (best.mean.empty()) best = got;
          EXPECT_EQ(got.mean, best.mean);
          EXPECT_EQ(got.variance, best.variance);
          EXPECT_EQ(got.flushes, wanted.flushes);
        }
        simd::force_target("");
        expect_same(best.mean, wanted.mean, scale);
        expect_same(best.variance, wanted.variance, wanted.variance);
        if (HasFailure()) return;
      }
    }
  }
}

std::string machine_of(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (c == ',' || c == '=') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Machines, SumErrorsOfKernel, testing::ValuesIn(all_machines()),
                         machine_of);

// The errors of a sum do not depend on its place in blocks of rows and stripes of columns.
TEST(SumErrorsOfBlocks, AreThoseOfEachSum) {
  Random random(20261129, 4);
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  constexpr std::int64_t kM = 35, kN = 523, kK = 20;
  const std::vector<double> a = operand("normal", format_named("float16"), kM * kK, random),
                            b = operand("normal", format_named("float16"), kK * kN, random);
  const SumErrors all = sum_errors(model, kM, kN, kK, a, b, {}, StartOfSum::kFirst, false, 3);
  for (const std::int64_t i : {0, 31, 32, 34}) {
    for (const std::int64_t j : {0, 7, 511, 512, 519, 522}) {
      const std::vector<double> row(a.begin() + i * kK, a.begin() + (i + 1) * kK);
      std::vector<double> column;
      for (std::int64_t k = 0; k < kK; ++k) {
        column.push_back(b[static_cast<std::size_t>(k * kN + j)]);
      }
      const SumErrors one =
          sum_errors(model, 1, 1, kK, row, column, {}, StartOfSum::kFirst, false, 1);
      EXPECT_EQ(all.mean[static_cast<std::size_t>(i * kN + j)], one.mean[0]) << i << " " << j;
      EXPECT_EQ(all.variance[static_cast<std::size_t>(i * kN + j)], one.variance[0]);
    }
  }
}

TEST(SumErrorsOfBlocks, OfNoSumsAreNone) {
  const DotModel& model = dot_model(machine_named("hopper"), format_named("float16"));
  EXPECT_TRUE(
      sum_errors(model, 0, 3, 2, {}, std::vector<double>(6, 1.0), {}, StartOfSum::kFirst, false)
          .mean.empty());
  EXPECT_EQ(sum_errors(model, 2, 3, 0, {}, {}, {}, StartOfSum::kFirst, false).variance,
            std::vector<double>(6, 0.0));
}

}  // namespace
}  // namespace assay
