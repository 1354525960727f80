// Compares golden rows with double-double arithmetic of one element after the other, on every
// target.
#include "assay/simd/golden_norms.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class GoldenNormsTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, GoldenNormsTest, testing::ValuesIn(available_targets()),
                         target_of);

std::vector<double> softmax_oracle(const std::vector<double>& x) {
  const double most = *std::max_element(x.begin(), x.end());
  std::vector<DoubleDouble> terms;
  DoubleDouble sum = 0;
  for (const double v : x) {
    terms.push_back(v == -kInfinity ? DoubleDouble(0) : exp(DoubleDouble(v) - most));
    sum = sum + terms.back();
  }
  std::vector<double> y;
  for (const DoubleDouble& term : terms) y.push_back((term / sum).high);
  return y;
}

// Returns exp(factor x - max factor x) of each element, and their sum in `sum`.
std::vector<double> exponentials_oracle(const std::vector<double>& x, double factor,
                                        DoubleDouble& sum) {
  const double top =
      factor < 0 ? *std::min_element(x.begin(), x.end()) : *std::max_element(x.begin(), x.end());
  sum = 0;
  std::vector<double> y;
  for (const double v : x) {
    const DoubleDouble e = exp(exact_product(v, factor) - exact_product(top, factor));
    sum = sum + e;
    y.push_back(e.high);
  }
  return y;
}

std::vector<double> normalise_oracle(const GoldenNorm& norm, const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  DoubleDouble mean = 0, squares = 0;
  if (norm.centre) {
    for (const double v : x) mean = mean + v;
    mean = mean / n;
  }
  for (const double v : x) squares = squares + (v - mean) * (v - mean);
  const DoubleDouble length = sqrt(squares / n + norm.eps);
  std::vector<double> y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    DoubleDouble value = (x[i] - mean) / length;
    if (norm.weight != nullptr) value = value * norm.weight[i];
    if (norm.bias != nullptr) value = value + norm.bias[i];
    y.push_back(value.high);
  }
  return y;
}

void expect_same_bits(const std::vector<double>& y, const std::vector<double>& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(y[i]), std::bit_cast<std::uint64_t>(expected[i]))
        << i << " of " << expected.size();
  }
}

constexpr std::size_t kLengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 64, 100, 1001};

// Returns a row of one of 8 kinds: normal values, larger ones, ones of many sizes, whole numbers,
// ones far from 0, zeros, ones near 1, and float32 numbers.
constexpr int kKinds = 8;
std::vector<double> row(Random& random, std::size_t n, int kind) {
  std::vector<double> x(n);
  for (double& v : x) {
    v = random.normal();
    if (kind == 1) v *= 20;
    if (kind == 2) v = std::ldexp(v, -static_cast<int>(random.below(100)));
    if (kind == 3) v = std::nearbyint(4 * v);
    if (kind == 4) v += 1e6;
    if (kind == 5) v = std::copysign(0.0, v);
    if (kind == 6) v = 1 + std::ldexp(v, -40);
    if (kind == 7) v = static_cast<float>(v);
  }
  return x;
}

TEST_P(GoldenNormsTest, Softmax) {
  Random random(81, 0);
  int rows = 0, settled = 0;
  for (const std::size_t n : kLengths) {
    for (int i = 0; i < 16 * kKinds; ++i) {
      std::vector<double> x = row(random, n, i % kKinds);
      if (i % 3 == 0) {
        for (std::size_t j = 1; j < n; j += 3) x[j] = -kInfinity;
      }
      std::vector<double> y(n + 1, 7), scratch(n + 1, 7);
      ++rows;
      if (!golden_softmax(n, x.data(), y.data(), scratch.data())) continue;
      ++settled;
      expect_same_bits(y, softmax_oracle(x));
      EXPECT_TRUE(y[n] == 7 && scratch[n] == 7);
    }
  }
  EXPECT_GT(settled, rows * 8 / 10);
}

TEST_P(GoldenNormsTest, SoftmaxLeavesWhatHasNoRoom) {
  double y[4], scratch[4];
  for (const double v : {kNan, kInfinity, 700.0, -700.0}) {
    for (std::size_t at = 0; at < 4; ++at) {
      double x[] = {1, 2, 3, 4};
      x[at] = v;
      EXPECT_FALSE(golden_softmax(4, x, y, scratch)) << v << " " << at;
    }
  }
  const double nothing[] = {-kInfinity, -kInfinity};
  EXPECT_FALSE(golden_softmax(2, nothing, y, scratch));
}

TEST_P(GoldenNormsTest, Exponentials) {
  Random random(82, 0);
  int rows = 0, settled = 0;
  for (const std::size_t n : kLengths) {
    for (int i = 0; i < 16 * kKinds; ++i) {
      const std::vector<double> x = row(random, n, i % kKinds);
      const double factor = i % 5 == 0 ? -0.25 : i % 5 == 1 ? 0 : random.uniform();
      std::vector<double> y(n + 1, 7);
      GoldenSum sum{};
      ++rows;
      if (!golden_exponentials(n, x.data(), factor, y.data(), sum)) continue;
      ++settled;
      DoubleDouble expected = 0;
      expect_same_bits(y, exponentials_oracle(x, factor, expected));
      EXPECT_EQ(y[n], 7);
      const DoubleDouble off = DoubleDouble(sum.high, sum.low) - expected;
      EXPECT_LE(std::abs(off.high), sum.error * expected.high);
      EXPECT_GT(sum.error, 0);
      EXPECT_LT(sum.error, 0x1p-70);
    }
  }
  EXPECT_GT(settled, rows * 8 / 10);
}

TEST_P(GoldenNormsTest, ExponentialsLeaveWhatHasNoRoom) {
  double y[4];
  GoldenSum sum;
  for (const double factor : {0.5, -0.5}) {
    for (const double v : {kNan, kInfinity, -kInfinity, 2000.0, -2000.0, 1e8}) {
      for (std::size_t at = 0; at < 4; ++at) {
        double x[] = {1, 2, 3, 4};
        x[at] = v;
        EXPECT_FALSE(golden_exponentials(4, x, factor, y, sum)) << v << " " << at;
      }
    }
  }
}

TEST_P(GoldenNormsTest, Normalise) {
  Random random(83, 0);
  int rows = 0, settled = 0;
  for (const std::size_t n : kLengths) {
    for (int i = 0; i < 24 * kKinds; ++i) {
      const std::vector<double> x = row(random, n, i % kKinds);
      const std::vector<double> weight = row(random, n, i % 7), bias = row(random, n, i % 5);
      const GoldenNorm norm{i % 4 == 0 ? 0 : 1e-5, i % 3 != 0, i % 5 == 0 ? nullptr : weight.data(),
                            i % 2 == 0 ? nullptr : bias.data()};
      std::vector<double> y(n + 1, 7);
      ++rows;
      if (!golden_normalise(norm, n, x.data(), y.data())) continue;
      ++settled;
      expect_same_bits(y, normalise_oracle(norm, x));
      EXPECT_EQ(y[n], 7);
    }
  }
  // The quick way settles most rows. It does not settle rows of one element, rows of zeros with eps
  // 0, and rows with an element at the mean.
  EXPECT_GT(settled, rows * 7 / 10);
}

TEST_P(GoldenNormsTest, NormaliseLeavesWhatHasNoRoom) {
  double y[4];
  for (const bool centre : {false, true}) {
    for (const double v : {kNan, kInfinity, -kInfinity, 0x1p201, -0x1p300, 0x1p-201, 0x1p-1074}) {
      for (std::size_t at = 0; at < 4; ++at) {
        double x[] = {1, 2, 3, 5};
        x[at] = v;
        EXPECT_FALSE(golden_normalise({1e-5, centre, nullptr, nullptr}, 4, x, y)) << v << " " << at;
      }
    }
    const double zeros[4] = {};
    EXPECT_FALSE(golden_normalise({0, centre, nullptr, nullptr}, 4, zeros, y));
    EXPECT_TRUE(golden_normalise({1e-5, centre, nullptr, nullptr}, 4, zeros, y));
  }
}

}  // namespace
}  // namespace assay::simd
