#include "assay/gate/square_moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/random.h"
#include "assay/simd/square_moments_kernel.h"
#include "assay/simd/targets.h"

namespace assay {
namespace {

class SquareMomentsOnTargets : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};

struct Elements {
  std::vector<double> e, mean, deviation;
};

// Returns elements of all sizes, near ties and at the end of the format's range. Their errors reach
// from far less than an ulp to far more.
Elements drawn(const Format& format, std::uint64_t stream) {
  constexpr int kCount = 2000;
  Random random(20261129, stream);
  Elements drawn;
  const int least = std::ilogb(min_subnormal(format)), most = std::ilogb(max_finite(format));
  for (int i = 0; i < kCount; ++i) {
    const int range = std::min(most - least + 3, 200);
    const int exponent = least - 1 + static_cast<int>(random.below(static_cast<unsigned>(range)));
    double e = std::ldexp(1 + random.uniform(), exponent);
    if (random.below(8) == 0) e = round_to(format, std::min(e, max_finite(format)));
    if (random.below(8) == 0) e += ulp_of(format, e) / 2;
    if (random.below(64) == 0) e = max_finite(format) * (1 - random.uniform() / 64);
    if (random.below(64) == 0) e = 0;
    if (random.below(2) == 0) e = -e;
    const double ulp = ulp_of(format, e);
    drawn.e.push_back(e);
    drawn.mean.push_back(random.below(2) == 0 ? 0 : random.normal() * ulp);
    const double size = std::ldexp(1 + random.uniform(), static_cast<int>(random.below(24)) - 20);
    drawn.deviation.push_back(random.below(16) == 0 ? 0 : size * ulp);
  }
  drawn.deviation[7] = 1e60;
  return drawn;
}

const char* const kFormats[] = {"float32",     "float16",       "bfloat16", "float8_e4m3fn",
                                "float8_e5m2", "float4_e2m1fn", "hifloat8", "float8_e8m0fnu"};

TEST_P(SquareMomentsOnTargets, BlocksAreOneElementAfterTheOther) {
  std::uint64_t stream = 0;
  for (const char* name : kFormats) {
    const Format& format = format_named(name);
    const std::optional<LastRounding> last = LastRounding(format);
    const Elements all = drawn(format, ++stream);
    BlockMoments block(all.e.size());
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{5}, all.e.size()}) {
      block.compute(last, n, all.e.data(), all.mean.data(), all.deviation.data());
      for (std::size_t i = 0; i < n; ++i) {
        const SquareMoments one = square_moments(last, all.e[i], all.mean[i], all.deviation[i]);
        ASSERT_EQ(block.mean[i], one.mean) << name << " " << i << " of " << n;
        ASSERT_EQ(block.variance[i], one.variance) << name << " " << i;
        ASSERT_EQ(block.jump[i], one.jump) << name << " " << i;
        ASSERT_EQ(block.mean_error[i], one.mean_error) << name << " " << i;
      }
    }
  }
}

TEST_P(SquareMomentsOnTargets, KernelsComputeAllButTheEndOfTheRange) {
  const Format& format = format_named("float16");
  const LastRounding last(format);
  const double e[] = {1, 0, 1e-6, 65000, 65504, 70000, kNan}, mean[7] = {};
  const double deviation[] = {1e-4, 1e-9, 1e-9, 1, 100, 1, 1};
  double out[4][7];
  simd::square_moments(last.digits(), last.smooth(), 7, e, mean, deviation,
                       {out[0], out[1], out[2], out[3]});
  for (int i = 0; i < 7; ++i) {
    for (const auto& of : out) EXPECT_EQ(std::isnan(of[i]), i >= 4) << e[i];
  }
}

TEST_P(SquareMomentsOnTargets, BoundsByTheFormulas) {
  constexpr double kGolden = 0x1p-51, kFar = 9.5;
  std::uint64_t stream = 100;
  for (const char* name : {"float32", "float16", "bfloat16", "float8_e4m3fn"}) {
    const Format& format = format_named(name);
    const LastRounding last(format);
    const Elements all = drawn(format, ++stream);
    std::vector<double> variance, drift;
    for (std::size_t i = 0; i < all.e.size(); ++i) {
      variance.push_back(all.deviation[i] * all.deviation[i]);
      drift.push_back(i % 3 == 0 ? std::abs(all.mean[i]) : 0);
    }
    const std::size_t n = all.e.size();
    std::vector<double> deviations(n), bounds(n), squares(n);
    simd::error_bounds(last.digits(), kGolden, kFar, n,
                       {all.e.data(), all.mean.data(), variance.data(), drift.data()},
                       {deviations.data(), bounds.data(), squares.data()});
    int unknown = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double e = all.e[i], own = kGolden * e;
      const double deviation = std::sqrt(variance[i] + own * own);
      const double far = drift[i] + kFar * deviation;
      const double low = e + (all.mean[i] - far), high = e + (all.mean[i] + far);
      const double most = std::max({std::abs(e), std::abs(low), std::abs(high)});
      if (!(most < max_finite(format))) {
        ++unknown;
        EXPECT_TRUE(std::isnan(deviations[i]) && std::isnan(bounds[i]) && std::isnan(squares[i]));
        continue;
      }
      const double ulp = ulp_of(format, e), mean = std::abs(all.mean[i]) + drift[i];
      ASSERT_EQ(deviations[i], deviation);
      ASSERT_EQ(bounds[i], std::max(std::abs(round_to(format, low) - e),
                                    std::abs(round_to(format, high) - e)));
      ASSERT_EQ(squares[i], ulp * ulp * (1.0 / 12) + mean * mean + deviation * deviation);
    }
    EXPECT_GT(unknown, 0) << name;
    EXPECT_LT(unknown, 500) << name;
  }
}

TEST_P(SquareMomentsOnTargets, RootsAreScaled) {
  const std::vector<double> scale = {1, -2, 3, 0, 5, 6, -7, 8, 9, 10, 11},
                            square = {4, 9, -1, 2, 1e-300, 0, 3, 7, 2, 1e300, 6};
  for (std::size_t n = 0; n <= scale.size(); ++n) {
    std::vector<double> roots(n);
    simd::scaled_roots(n, scale.data(), square.data(), roots.data());
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(roots[i], std::abs(scale[i]) * std::sqrt(std::max(square[i], 0.0)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, SquareMomentsOnTargets,
                         testing::ValuesIn(simd::available_targets()),
                         [](const auto& target) { return target.param; });

// The moments of round(e + x) - e and of its square, where x is normal. They are summed over 4000
// values of x between -8 and 8 deviations. A sum is off by what lies within one step of a tie.
TEST(SquareMoments, AreThoseOfRoundedNormalNumbers) {
  constexpr int kSteps = 4000;
  std::vector<double> z, density;
  double total = 0;
  for (int i = 0; i < kSteps; ++i) {
    z.push_back(-8 + 16 * (i + 0.5) / kSteps);
    density.push_back(std::exp(-z.back() * z.back() / 2));
    total += density.back();
  }
  for (const char* name : {"", "float32", "float16", "bfloat16", "float8_e4m3fn", "hifloat8"}) {
    const bool rounds = *name != 0;
    const Format& format = format_named(rounds ? name : "float32");
    std::optional<LastRounding> last;
    if (rounds) last.emplace(format);
    for (const double e : {1.5, -1.25, 1.0 / 3, 7.3}) {
      const double ulp = ulp_of(format, e);
      for (const double off : {0.0, 0.6, -2.25}) {
        for (const double size : {0.05, 0.3, 1.0, 3.9}) {
          const double mean = off * ulp, deviation = size * ulp;
          double sum = 0, squares = 0, fourths = 0;
          for (std::size_t i = 0; i < z.size(); ++i) {
            const double exact = e + mean + deviation * z[i];
            const double error = (rounds ? round_to(format, exact) : exact) - e;
            sum += density[i] * error;
            squares += density[i] * error * error;
            fourths += density[i] * std::pow(error, 4);
          }
          sum /= total, squares /= total, fourths /= total;
          const SquareMoments moments = square_moments(last, e, mean, deviation);
          SCOPED_TRACE(std::string(name) + " " + std::to_string(e) + " " + std::to_string(off) +
                       " " + std::to_string(size));
          const double square = ulp * ulp, near = 1e-2;
          EXPECT_NEAR(moments.mean_error, sum, near * std::abs(sum) + 1e-2 * ulp);
          EXPECT_NEAR(moments.mean, squares, near * squares + 1e-3 * square);
          EXPECT_NEAR(moments.variance, fourths - squares * squares,
                      near * fourths + 1e-3 * square * square);
        }
      }
    }
  }
}

TEST(NormalTable, IsTheNormalDistribution) {
  const simd::NormalTable& table = simd::normal_table();
  for (double z = -8; z <= 8; z += 0x1p-10) {
    EXPECT_NEAR(table.below(z), std::erfc(-z / std::sqrt(2.0)) / 2, 1e-9) << z;
  }
  EXPECT_EQ(table.below(7), 1);
  EXPECT_EQ(table.below(-7), 0);
  EXPECT_NEAR(table.below(std::nextafter(7.0, 0.0)), 1, 1e-11);
}

}  // namespace
}  // namespace assay
