#include "assay/simd/weighted_errors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class WeightedErrorsOnTargets : public OnEveryTarget {};

TEST_P(WeightedErrorsOnTargets, AreThoseOfOneKeyAfterTheOther) {
  Random random(20261129, 7);
  const auto drawn = [&](std::int64_t n) {
    std::vector<double> values(static_cast<std::size_t>(n));
    for (double& v : values) v = random.normal();
    return values;
  };
  for (const std::int64_t keys : {0, 1, 2, 37}) {
    for (const std::int64_t columns : {8, 24}) {
      const auto width = static_cast<std::size_t>(columns);
      const std::vector<double> values = drawn(keys * columns), mean = drawn(keys),
                                depth = drawn(keys), drift = drawn(keys), factor = drawn(columns);
      std::vector<double> weight = drawn(keys), variance = drawn(keys), of_cast = drawn(keys);
      for (auto* positive : {&weight, &variance, &of_cast}) {
        for (double& v : *positive) v = std::abs(v);
      }
      WeightedAverage of = {.keys = keys,
                            .columns = columns,
                            .values = values.data(),
                            .weight = weight.data(),
                            .mean = mean.data(),
                            .variance = variance.data(),
                            .of_cast = of_cast.data(),
                            .depth = depth.data(),
                            .drift = drift.data()};
      std::vector<double> got[5], wanted[5];
      for (auto* all : {got, wanted}) {
        for (int i = 0; i < 5; ++i) all[i].assign(width, 0.0);
      }
      weighted_errors(of, {.average = got[0].data(),
                           .mean = got[1].data(),
                           .variance = got[2].data(),
                           .depth = got[3].data(),
                           .drift = got[4].data()});
      for (std::size_t j = 0; j < width; ++j) {
        const auto value_at = [&](std::size_t key) { return values[key * width + j]; };
        for (std::size_t key = 0; key < weight.size(); ++key) {
          wanted[0][j] += weight[key] * value_at(key);
        }
        for (std::size_t key = 0; key < weight.size(); ++key) {
          const double w = weight[key], v = value_at(key), beside = v - wanted[0][j];
          wanted[1][j] += beside * (w * mean[key]);
          wanted[2][j] +=
              beside * beside * (w * w * variance[key]) + v * v * (w * w * of_cast[key]);
          wanted[3][j] += w * beside * depth[key];
          wanted[4][j] += std::abs(w * beside * drift[key]);
        }
      }
      for (int i = 0; i < 5; ++i) EXPECT_EQ(got[i], wanted[i]) << keys << " keys, sum " << i;
      // Without a depth, the other sums are the same.
      of.depth = of.drift = nullptr;
      std::vector<double> fewer[3];
      for (auto& sums : fewer) sums.resize(width);
      weighted_errors(of, {.average = fewer[0].data(),
                           .mean = fewer[1].data(),
                           .variance = fewer[2].data(),
                           .depth = nullptr,
                           .drift = nullptr});
      for (int i = 0; i < 3; ++i) EXPECT_EQ(fewer[i], wanted[i]);
      std::vector<double> by_key(weight.size());
      weighted_columns(of, factor.data(), by_key.data());
      for (std::size_t key = 0; key < by_key.size(); ++key) {
        double sums[kAveragedColumns] = {};
        for (std::size_t j = 0; j < width; ++j) {
          sums[j % kAveragedColumns] += factor[j] * values[key * width + j];
        }
        for (std::size_t n = kAveragedColumns / 2; n > 0; n /= 2) {
          for (std::size_t i = 0; i < n; ++i) sums[i] += sums[i + n];
        }
        EXPECT_EQ(by_key[key], sums[0]) << key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OnTarget, WeightedErrorsOnTargets, testing::ValuesIn(available_targets()),
                         target_of);

}  // namespace
}  // namespace assay::simd
