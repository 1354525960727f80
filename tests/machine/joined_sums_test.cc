// Tests the vector kernel for sums that are added to an accumulator afterwards, against the oracle
// of the dot engine, on every SIMD target.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/machine/dot.h"
#include "assay/machine/dot_oracle.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

using JoinedCase = std::tuple<std::string, const char*>;  // machine, input

class JoinedSums : public testing::TestWithParam<JoinedCase> {};

TEST_P(JoinedSums, AreThoseOfTheOracle) {
  const auto& [name, input] = GetParam();
  const Format& f = format_named(input);
  const DotModel& model = dot_model(machine_named(name), f);
  Random random(20261129, 5);
  for (int round = 0; round < 60; ++round) {
    // The sums of the last round are longer than one stretch of the kernel.
    const std::int64_t m = 1 + round % 3, n = 1 + round % 11,
                       k = round == 59 ? 4200 : 1 + 7 * (round % 13);
    const int spread = round % 4 * 8, kind = round % 5;
    const auto drawn = [&] {
      if (kind == 1 && random.below(3) == 0) return 0.0;
      if (kind == 2) return min_normal(f) * random.normal();
      if (kind == 3 && random.below(200) == 0) return std::numeric_limits<double>::infinity();
      if (kind == 4 && random.below(20) == 0) return max_finite(f);
      const auto shift = static_cast<int>(random.below(static_cast<std::uint64_t>(spread + 1)));
      return std::ldexp(random.normal(), shift - spread / 2);
    };
    const auto operand = [&](std::int64_t count) {
      std::vector<double> values(static_cast<std::size_t>(count));
      for (double& v : values) v = round_to(f, drawn());
      return values;
    };
    const std::vector<double> a = operand(m * k), b = operand(k * n);
    std::vector<float> start(static_cast<std::size_t>(m * n), 0.0f);
    for (float& v : start) {
      if (round % 2 == 0) v = std::ldexp(static_cast<float>(random.normal()), spread - 8);
    }
    SCOPED_TRACE(formatted("round {}", round));
    for (const std::string& target : simd::available_targets()) {
      SCOPED_TRACE(target);
      simd::force_target(target);
      std::vector<float> sums = start;
      dot_matmul(model, m, n, k, a.data(), b.data(), sums.data(), 1);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(i * n + j);
          const auto wanted = static_cast<float>(dot_oracle(
              model, k, a.data() + i * k, 1, b.data() + j, n, static_cast<double>(start[at])));
          if (std::isnan(wanted)) {
            EXPECT_TRUE(std::isnan(sums[at]));
          } else {
            EXPECT_EQ(sums[at], wanted) << i << " " << j;
            EXPECT_EQ(std::signbit(sums[at]), std::signbit(wanted));
          }
        }
      }
    }
    simd::force_target("");
    if (HasFailure()) return;
  }
}

std::string joined_case_name(const testing::TestParamInfo<JoinedCase>& info) {
  std::string name = std::get<0>(info.param) + "_" + std::get<1>(info.param);
  for (char& c : name) {
    if (c == ',' || c == '=' || c == '-') c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Machines, JoinedSums,
    testing::Combine(testing::Values("cdna3", "cdna3,interleave=3,reach=12", "cdna3,chunk=5",
                                     "cdna3,sum_bits=20,kept_bits=30", "cdna3,emax_floor=-20",
                                     "cdna3,promotion_interval=12"),
                     testing::Values("float16", "bfloat16", "tfloat32", "float8_e4m3fnuz",
                                     "float8_e5m2fnuz")),
    joined_case_name);

}  // namespace
}  // namespace assay
