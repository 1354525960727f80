// Compares the tile kernels with plain loops, on every SIMD target.
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
  // Return the index of an element in the packed tile of A or of B, or in C.
  std::size_t a_at(std::int64_t i, int r) const { return static_cast<std::size_t>(i * rows + r); }
  std::size_t b_at(std::int64_t i, int j) const {
    return static_cast<std::size_t>(i * columns + j);
  }
  std::size_t c_at(int r, int j) const { return static_cast<std::size_t>(r * stride() + j); }
  std::int64_t stride() const { return columns + 3; }

  // Integers that are small enough for every sum to be exact in int64 and float64. So only the
  // rounding to float32 in every chunk is inexact.
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

  // Returns the expected result: a chunk's exact sum in integers, converted to float32 by the
  // processor.
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

// Answers every question of the kernel with a fixed number, and records the questions.
struct Recorder {
  struct Question {
    int row, column;
    std::int64_t begin, end;
    float accumulator;
  };
  static float answer(const void* context, int row, int column, std::int64_t begin,
                      std::int64_t end, float accumulator) {
    const auto* self = static_cast<const Recorder*>(context);
    self->asked.push_back({row, column, begin, end, accumulator});
    return self->reply;
  }
  ChunkSettler settle() const { return {answer, this}; }
  mutable std::vector<Question> asked;
  float reply = 5;
};

TEST_P(TileTest, GuardedSumsAreTheSame) {
  for (const int chunk : {1, 4, 16}) {
    for (const std::int64_t k : {1, 3, 16, 50}) {
      fill(k, 1 << 16, static_cast<std::uint64_t>(k));
      const auto wanted = expected(chunk, k);
      const Recorder recorder;
      // The operands are integers. So a sum that is within a quarter of a rounding boundary is
      // exactly on it.
      chunk_tile_guarded(chunk, k, a.data(), b.data(), c.data(), stride(), 0.0, recorder.settle());
      EXPECT_EQ(c, wanted) << chunk << " " << k;
      EXPECT_TRUE(recorder.asked.empty());
    }
  }
}

TEST_P(TileTest, WhatLiesBesideTheTileStays) {
  for (int kernel = 0; kernel < 2; ++kernel) {
    fill(5, 100, 9);
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t j = columns; j < stride(); ++j) c[c_at(r, static_cast<int>(j))] = 77;
    }
    const Recorder recorder;
    if (kernel == 0) chunk_tile(4, 5, a.data(), b.data(), c.data(), stride());
    if (kernel == 1) {
      chunk_tile_guarded(4, 5, a.data(), b.data(), c.data(), stride(), 1.0, recorder.settle());
    }
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t j = columns; j < stride(); ++j) {
        EXPECT_EQ(c[c_at(r, static_cast<int>(j))], 77) << kernel;
      }
    }
  }
}

TEST_P(TileTest, TheGuardAsksWhereItCouldGoEitherWay) {
  const double guard = 0x1p-40;
  struct {
    double sum;
    bool asked;
  } const cases[] = {{1.0, false},
                     {1 + 0x1p-24, true},            // a tie
                     {1 + 0x1p-24 + 0x1p-41, true},  // nearer to a tie than the guard
                     {1 + 0x1p-24 - 0x1p-41, true},
                     {1 + 0x1p-24 + 0x1p-39, false},  // farther
                     {1 + 0x1p-24 - 0x1p-39, false},
                     {1 + 0x1p-23, false},
                     {0x1p-60, true},  // smaller than the guard itself
                     {0.0, true}};
  for (const auto& test : cases) {
    fill(3, 1, 2);
    std::fill(a.begin(), a.end(), 1.0);
    std::fill(b.begin(), b.end(), 0.0);
    std::fill(c.begin(), c.end(), 0.0f);
    // The second chunk is tested. The accumulator is 0.25 before it, and the third chunk adds 3.
    for (int j = 0; j < columns; ++j) {
      b[b_at(0, j)] = 0.25;
      b[b_at(1, j)] = (j % 2 == 0 ? test.sum : 1.0) - 0.25;
      b[b_at(2, j)] = 3;
    }
    const Recorder recorder;
    chunk_tile_guarded(1, 3, a.data(), b.data(), c.data(), stride(), guard, recorder.settle());
    std::size_t next = 0;
    for (int r = 0; r < rows; ++r) {
      for (int j = 0; j < columns; ++j) {
        const bool asked = j % 2 == 0 && test.asked;
        EXPECT_EQ(c[c_at(r, j)], asked ? 8.0f : static_cast<float>(j % 2 == 0 ? test.sum : 1.0) + 3)
            << std::hexfloat << test.sum << " " << r << " " << j;
        if (!asked) continue;
        ASSERT_LT(next, recorder.asked.size());
        const Recorder::Question& q = recorder.asked[next++];
        EXPECT_EQ(q.row, r);
        EXPECT_EQ(q.column, j);
        EXPECT_EQ(q.begin, 1);
        EXPECT_EQ(q.end, 2);
        EXPECT_EQ(q.accumulator, 0.25f);
      }
    }
    EXPECT_EQ(next, recorder.asked.size());
  }
}

TEST_P(TileTest, Multiples) {
  fill(1, 1, 3);
  double largest = 0;
  for (float& v : c) v = 1;
  EXPECT_TRUE(tile_is_multiple(c.data(), stride(), 0, largest));
  EXPECT_EQ(largest, 1);
  for (int r = 0; r < rows; ++r) {
    for (int j = 0; j < columns; ++j) {
      const float kept = c[c_at(r, j)];
      c[c_at(r, j)] = -2.5f;
      EXPECT_TRUE(tile_is_multiple(c.data(), stride(), -1, largest)) << r << " " << j;
      EXPECT_FALSE(tile_is_multiple(c.data(), stride(), 0, largest)) << r << " " << j;
      EXPECT_EQ(largest, 2.5);
      c[c_at(r, j)] = kept;
    }
  }
  // Also tests numbers far above and far below the quantum.
  c[c_at(0, 0)] = 0x1.fffffep127f;
  EXPECT_TRUE(tile_is_multiple(c.data(), stride(), 0, largest));
  EXPECT_TRUE(tile_is_multiple(c.data(), stride(), -100, largest));
  c[c_at(0, 0)] = 0x1p-149f;
  EXPECT_FALSE(tile_is_multiple(c.data(), stride(), -148, largest));
  EXPECT_TRUE(tile_is_multiple(c.data(), stride(), -149, largest));
}

class ChainTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, ChainTest, testing::ValuesIn(available_targets()), target_of);

TEST_P(ChainTest, OneProductAfterTheOther) {
  const auto [rows, columns] = chain_tile_shape();
  Random random(12, 30);
  for (const std::int64_t k : {0, 1, 7, 40}) {
    std::vector<float> a(static_cast<std::size_t>(k * rows)),
        b(static_cast<std::size_t>(k * columns));
    for (float& v : a) v = static_cast<float>(random.normal());
    for (float& v : b) v = static_cast<float>(random.normal());
    const std::int64_t stride = columns + 5;
    for (const bool fused : {false, true}) {
      if (fused && !has_fused_chain()) continue;
      std::vector<float> c(static_cast<std::size_t>(rows * stride));
      for (float& v : c) v = static_cast<float>(random.normal());
      auto wanted = c;
      for (int r = 0; r < rows; ++r) {
        for (int j = 0; j < columns; ++j) {
          float& sum = wanted[static_cast<std::size_t>(r * stride + j)];
          for (std::int64_t i = 0; i < k; ++i) {
            const float x = a[static_cast<std::size_t>(i * rows + r)];
            const float y = b[static_cast<std::size_t>(i * columns + j)];
            if (fused) {
              sum = std::fma(x, y, sum);
            } else {
              const float product = x * y;
              sum = sum + product;
            }
          }
        }
      }
      chain_tile(fused, k, a.data(), b.data(), c.data(), stride);
      EXPECT_EQ(c, wanted) << fused << " " << k;
    }
  }
}

class CompensatedTest : public OnEveryTarget {};

INSTANTIATE_TEST_SUITE_P(OnTarget, CompensatedTest, testing::ValuesIn(available_targets()),
                         target_of);

// Error-free transformations: c + error carries the exact value of the old c plus a * b.
TEST_P(CompensatedTest, TheErrorIsWhatWasRoundedAway) {
  Random random(12, 20);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<double> b(n), c(n), error(n, 0.0), spread(n, 1.0);
    for (std::size_t j = 0; j < n; ++j) {
      b[j] = random.normal();
      c[j] = random.normal() * 1e6;
    }
    const auto start = c;
    const double a = random.normal();
    columns_compensated(static_cast<std::int64_t>(n), 1, &a, b.data(), 0,
                        {c.data(), error.data(), spread.data()});
    for (std::size_t j = 0; j < n; ++j) {
      ASSERT_EQ(spread[j], 1 + std::abs(error[j]));
      ASSERT_EQ(c[j], start[j] + a * b[j]);
      // Computes the exact value in two parts, by the processor's fused multiply-add.
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
TEST_P(CompensatedTest, EveryPositionGivesTheSameBits) {
  Random random(12, 21);
  for (int round = 0; round < 200; ++round) {
    const double exponent = static_cast<double>(random.below(200)) - 100;
    const double a = random.normal() * std::exp2(exponent), b = random.normal();
    const double start = random.normal() * std::exp2(exponent);
    for (const std::size_t n : {1u, 7u, 19u}) {
      const std::vector<double> row(n, b);
      std::vector<double> c(n, start), error(n, 0.0), spread(n, 0.0);
      columns_compensated(static_cast<std::int64_t>(n), 1, &a, row.data(), 0,
                          {c.data(), error.data(), spread.data()});
      for (std::size_t j = 1; j < n; ++j) {
        ASSERT_EQ(std::bit_cast<std::uint64_t>(c[j]), std::bit_cast<std::uint64_t>(c[0]));
        ASSERT_EQ(std::bit_cast<std::uint64_t>(error[j]), std::bit_cast<std::uint64_t>(error[0]));
      }
      const double product = a * b;
      ASSERT_EQ(c[0], start + product);
    }
  }
}

// Many products in one call give the same sums as one product after the other.
TEST_P(CompensatedTest, ColumnsAddTheirProductsInOrder) {
  Random random(12, 23);
  for (const std::int64_t n : {1, 5, 37, 70}) {
    constexpr std::int64_t kDepth = 9;
    const std::int64_t stride = n + 3;
    const auto width = static_cast<std::size_t>(n);
    std::vector<double> a(kDepth), b(static_cast<std::size_t>(kDepth * stride));
    for (auto* operand : {&a, &b}) {
      for (double& v : *operand) v = random.normal();
    }
    std::vector<double> sums(width, 1e3), errors(width, 1e-9), spreads(width, 2.0);
    auto wanted = sums, wanted_errors = errors, wanted_spreads = spreads;
    columns_compensated(n, kDepth, a.data(), b.data(), stride,
                        {sums.data(), errors.data(), spreads.data()});
    for (std::int64_t i = 0; i < kDepth; ++i) {
      columns_compensated(n, 1, a.data() + i, b.data() + i * stride, stride,
                          {wanted.data(), wanted_errors.data(), wanted_spreads.data()});
    }
    EXPECT_EQ(sums, wanted) << n;
    EXPECT_EQ(errors, wanted_errors) << n;
    EXPECT_EQ(spreads, wanted_spreads) << n;
  }
}

// A compensated sum of products. Its sum and error together are exact to what long double can show.
TEST_P(CompensatedTest, DotCarriesTheErrorOfEveryProduct) {
  Random random(12, 22);
  for (std::size_t k = 0; k <= 70; ++k) {
    std::vector<double> a(k), b(k);
    const double start = random.normal();
    long double exact = static_cast<long double>(start), sizes = 0;
    for (std::size_t i = 0; i < k; ++i) {
      // The factors have 26 bits each, so that their products are exact in float64, and sums of a
      // few of them in long double.
      a[i] = std::ldexp(static_cast<double>(random.below(1 << 26)) - 0x1p25, -26);
      b[i] = std::ldexp(static_cast<double>(random.below(1 << 26)) - 0x1p25, -26);
      exact += static_cast<long double>(a[i]) * static_cast<long double>(b[i]);
      sizes += std::abs(static_cast<long double>(a[i] * b[i]));
    }
    double sum = start, error = 0, spread = 0;
    dot_compensated(static_cast<std::int64_t>(k), a.data(), b.data(), {&sum, &error, &spread});
    const long double got = static_cast<long double>(sum) + static_cast<long double>(error);
    ASSERT_LE(std::abs(got - exact), (1 + sizes) * 0x1p-62L) << k;
    ASSERT_GE(spread, std::abs(error)) << k;
    ASSERT_LE(spread, static_cast<double>(k * k) * 0x1p-50) << k;
  }
  double sum = -0.0, error = 0, spread = 0;
  const std::vector<double> zeros(40, 0.0), negative(40, -1.0);
  dot_compensated(40, zeros.data(), negative.data(), {&sum, &error, &spread});
  EXPECT_TRUE(sum == 0 && std::signbit(sum));
}

}  // namespace
}  // namespace assay::simd
