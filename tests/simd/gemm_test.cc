// The tile kernels against plain loops, on every SIMD target.
#include "assay/simd/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "assay/base/random.h"
#include "target_fixture.h"

namespace assay::simd {
namespace {

class TileTest : public OnEveryTarget {
 protected:
  void SetUp() override {
    OnEveryTarget::SetUp();
    rows = chunk_tile_shape().rows;
    columns = chunk_tile_shape().columns;
  }
  // Indices into a packed tile.
  std::size_t a_at(std::int64_t i, int r) const { return static_cast<std::size_t>(i * rows + r); }
  std::size_t b_at(std::int64_t i, int j) const {
    return static_cast<std::size_t>(i * columns + j);
  }
  std::size_t c_at(int r, int j) const { return static_cast<std::size_t>(r * stride() + j); }
  std::int64_t stride() const { return columns + 3; }

  // Integers small enough for every sum to be exact in int64 and float64; rounding to float32 then
  // happens in every chunk.
  void fill(std::int64_t k, std::int64_t largest, std::uint64_t stream) {
    Random random(12, stream);
    const auto draw = [&] {
      const auto span = static_cast<std::uint64_t>(2 * largest + 1);
      return static_cast<double>(static_cast<std::int64_t>(random.below(span)) - largest);
    };
    a.resize(static_cast<std::size_t>(k * rows));
    b.resize(static_cast<std::size_t>(k * columns));
    c.assign(static_cast<std::size_t>(rows * stride()), 0.0f);
    for (double& v : a) v = draw();
    for (double& v : b) v = draw();
    for (float& v : c) v = static_cast<float>(draw() * 1000);
  }

  // A chunk's exact sum in integers, and the processor's conversion to float32.
  std::vector<float> expected(int chunk, std::int64_t k) const {
    std::vector<float> result = c;
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < columns; ++j) {
        auto sum = static_cast<std::int64_t>(c[c_at(r, j)]);
        for (std::int64_t i = 0; i < k; ++i) {
          sum +=
              static_cast<std::int64_t>(a[a_at(i, r)]) * static_cast<std::int64_t>(b[b_at(i, j)]);
          if ((i + 1) % chunk == 0 || i + 1 == k) {
            sum = static_cast<std::int64_t>(static_cast<float>(sum));
          }
        }
        result[c_at(r, j)] = static_cast<float>(sum);
      }
    }
    return result;
  }

  int rows = 0, columns = 0;
  std::vector<double> a, b;
  std::vector<float> c;
};

INSTANTIATE_TEST_SUITE_P(OnTarget, TileTest, testing::ValuesIn(available_targets()), target_of);

TEST_P(TileTest, ChunksAreRoundedOnce) {
  for (const int chunk : {1, 2, 4, 8, 16, 64}) {
    for (const std::int64_t k : {1, 3, 16, 50}) {
      fill(k, 1 << 16, static_cast<std::uint64_t>(k));
      const auto wanted = expected(chunk, k);
      chunk_tile(chunk, k, a.data(), b.data(), c.data(), stride());
      EXPECT_EQ(c, wanted) << chunk << " " << k;
    }
  }
}

TEST_P(TileTest, SplitSumsGiveTheSame) {
  for (const int chunk : {1, 4, 16}) {
    for (const std::int64_t k : {1, 3, 16, 50}) {
      // Quanta that cut the integers in the middle, above and below them.
      for (const double quantum : {0x1p-40, 1.0, 0x1p16, 0x1p30}) {
        fill(k, 1 << 16, static_cast<std::uint64_t>(k));
        const auto wanted = expected(chunk, k);
        chunk_tile_split(chunk, k, a.data(), b.data(), c.data(), stride(), quantum);
        EXPECT_EQ(c, wanted) << chunk << " " << k << " " << quantum;
      }
    }
  }
}

// high + low where float64 alone would round a tie the wrong way.
TEST_P(TileTest, SplitSumsRoundOnce) {
  struct {
    double start;
    std::vector<double> products;
    float expected;
  } const cases[] = {
      {1, {0x1p-24}, 1.0f},                      // a tie, to even
      {1, {0x1p-24, 0x1p-90}, 0x1.000002p0f},    // just above it
      {1, {0x1p-24, -0x1p-90}, 1.0f},            // just below it
      {0x1.000002p0, {0x1p-24}, 0x1.000004p0f},  // a tie, to even
      {0x1.000002p0, {0x1p-24, -0x1p-90}, 0x1.000002p0f},
      {-1, {-0x1p-24, -0x1p-90}, -0x1.000002p0f},
      {-1, {-0x1p-24, 0x1p-90}, -1.0f},
      {1, {-0x1p-25}, 1.0f},  // below a power of two the ulp halves
      {1, {-0x1p-25, -0x1p-90}, 0x1.fffffep-1f},
      {1, {-0x1p-25, 0x1p-90}, 1.0f},
      {1, {0x1p-90, -1}, 0x1p-90f},
      {1, {-1, 0x1p-40, -0x1p-40}, 0.0f},
  };
  for (const auto& test : cases) {
    const auto k = static_cast<std::int64_t>(test.products.size());
    fill(k, 1, 1);
    std::fill(a.begin(), a.end(), 1.0);
    for (std::int64_t i = 0; i < k; ++i) {
      for (int j = 0; j < columns; ++j) b[b_at(i, j)] = test.products[static_cast<std::size_t>(i)];
    }
    std::fill(c.begin(), c.end(), static_cast<float>(test.start));
    chunk_tile_split(16, k, a.data(), b.data(), c.data(), stride(), 0x1p-46);
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < columns; ++j) {
        EXPECT_EQ(c[c_at(r, j)], test.expected)
            << std::hexfloat << test.start << " + " << test.products.back();
      }
    }
  }
}

TEST_P(TileTest, WhatLiesBesideTheTileStays) {
  for (int kernel = 0; kernel < 3; ++kernel) {
    fill(5, 100, 9);
    std::vector<std::uint32_t> unsure(c.size(), 0);
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t j = columns; j < stride(); ++j) c[c_at(r, static_cast<int>(j))] = 77;
    }
    if (kernel == 0) chunk_tile(4, 5, a.data(), b.data(), c.data(), stride());
    if (kernel == 1) chunk_tile_split(4, 5, a.data(), b.data(), c.data(), stride(), 1.0);
    if (kernel == 2) {
      chunk_tile_guarded(4, 5, a.data(), b.data(), c.data(), stride(), 1.0, unsure.data());
    }
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t j = columns; j < stride(); ++j) {
        EXPECT_EQ(c[c_at(r, static_cast<int>(j))], 77) << kernel;
        EXPECT_EQ(unsure[c_at(r, static_cast<int>(j))], 0u) << kernel;
      }
    }
  }
}

TEST_P(TileTest, TheGuardFlagsWhatCouldGoEitherWay) {
  const double guard = 0x1p-40;
  struct {
    double sum;
    bool flagged;
  } const cases[] = {{1.0, false},
                     {1 + 0x1p-24, true},            // a tie
                     {1 + 0x1p-24 + 0x1p-41, true},  // nearer than the guard
                     {1 + 0x1p-24 - 0x1p-41, true},
                     {1 + 0x1p-24 + 0x1p-39, false},  // farther
                     {1 + 0x1p-24 - 0x1p-39, false},
                     {1 + 0x1p-23, false},
                     {0x1p-60, true},  // smaller than the guard itself
                     {0.0, true}};
  for (const auto& test : cases) {
    fill(2, 1, 2);
    std::fill(a.begin(), a.end(), 1.0);
    std::fill(b.begin(), b.end(), 0.0);
    std::fill(c.begin(), c.end(), 0.0f);
    for (int j = 0; j < columns; ++j) b[b_at(0, j)] = j % 2 == 0 ? test.sum : 1.0;
    std::vector<std::uint32_t> unsure(c.size(), 0);
    chunk_tile_guarded(1, 2, a.data(), b.data(), c.data(), stride(), guard, unsure.data());
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < columns; ++j) {
        EXPECT_EQ(unsure[c_at(r, j)] != 0, j % 2 == 0 && test.flagged)
            << std::hexfloat << test.sum << " " << r << " " << j;
        if (unsure[c_at(r, j)] == 0) {
          EXPECT_EQ(c[c_at(r, j)], static_cast<float>(j % 2 == 0 ? test.sum : 1.0));
        }
      }
    }
  }
}

TEST_P(TileTest, AFlagStaysOverLaterChunks) {
  fill(6, 1, 3);
  std::fill(a.begin(), a.end(), 1.0);
  std::fill(c.begin(), c.end(), 1.0f);
  std::fill(b.begin(), b.end(), 1.0);
  for (int j = 0; j < columns; ++j) b[b_at(0, j)] = 0x1p-24;
  std::vector<std::uint32_t> unsure(c.size(), 0);
  chunk_tile_guarded(1, 6, a.data(), b.data(), c.data(), stride(), 0x1p-50, unsure.data());
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) EXPECT_NE(unsure[c_at(r, j)], 0u);
  }
}

class AxpyTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, AxpyTest, testing::ValuesIn(available_targets()), target_of);

// Error-free transformations: c + error carries the exact sum of products of 26-bit numbers.
TEST_P(AxpyTest, TheErrorIsWhatWasRoundedAway) {
  Random random(12, 20);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<double> b(n), c(n), error(n, 0.0);
    for (std::size_t j = 0; j < n; ++j) {
      b[j] = random.normal();
      c[j] = random.normal() * 1e6;
    }
    const auto start = c;
    const double a = random.normal();
    axpy_compensated(static_cast<std::int64_t>(n), a, b.data(), c.data(), error.data());
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_EQ(c[j], start[j] + a * b[j]);
      // The exact value, in two parts by the processor's fused multiply-add.
      const double product = a * b[j], product_error = std::fma(a, b[j], -product);
      const long double exact = static_cast<long double>(start[j]) +
                                static_cast<long double>(product) +
                                static_cast<long double>(product_error);
      const long double got = static_cast<long double>(c[j]) + static_cast<long double>(error[j]);
      ASSERT_LE(std::abs(got - exact), std::abs(exact) * 0x1p-62L + 1e-30L) << n << " " << j;
    }
  }
}

// The vector part and the last elements give the same bits.
TEST_P(AxpyTest, EveryPositionGivesTheSameBits) {
  Random random(12, 21);
  for (int round = 0; round < 200; ++round) {
    const double exponent = static_cast<double>(random.below(200)) - 100;
    const double a = random.normal() * std::exp2(exponent), b = random.normal();
    const double start = random.normal() * std::exp2(exponent);
    for (const std::size_t n : {1u, 7u, 19u}) {
      const std::vector<double> row(n, b);
      std::vector<double> c(n, start), error(n, 0.0);
      axpy_compensated(static_cast<std::int64_t>(n), a, row.data(), c.data(), error.data());
      for (std::size_t j = 1; j < n; ++j) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(c[j]), std::bit_cast<std::uint64_t>(c[0]));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(error[j]), std::bit_cast<std::uint64_t>(error[0]));
      }
      const double product = a * b;
      ASSERT_EQ(c[0], start + product);
    }
  }
}

}  // namespace
}  // namespace assay::simd
