// Compares the reference product with MPFR, on every SIMD target.
#include "assay/machine/exact_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/random.h"
#include "assay/simd/targets.h"
#include "emulated.h"
#include "inputs.h"
#include "mpfr_sum.h"

namespace assay {
namespace {

class ExactMatmulTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { simd::force_target(GetParam()); }
  void TearDown() override { simd::force_target(""); }
};

INSTANTIATE_TEST_SUITE_P(OnTarget, ExactMatmulTest, testing::ValuesIn(simd::available_targets()),
                         [](const auto& row) { return row.param; });

struct Product {
  std::int64_t m, n, k;
  std::vector<double> a, b, c;

  std::vector<double> run(int threads = 1) const {
    std::vector<double> out = c;
    exact_matmul(m, n, k, a.data(), b.data(), out.data(), threads);
    return out;
  }
};

Product zeros(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {m,
          n,
          k,
          std::vector<double>(at(m * k)),
          std::vector<double>(at(k * n)),
          std::vector<double>(at(m * n))};
}

// Expects |result - exact| <= ulp, or the a-priori bound of Dot2 if that is larger: (n u)^2 sum |a
// b|.
void expect_close(const Product& p, const std::string& what) {
  const auto result = p.run();
  oracle::MpfrSum sum, sizes;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const auto element = at(i * p.n + j);
      sum.clear();
      sizes.clear();
      sum.add(p.c[element]);
      sizes.add(std::abs(p.c[element]));
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double a = p.a[static_cast<std::size_t>(i * p.k + k)];
        const double b = p.b[static_cast<std::size_t>(k * p.n + j)];
        sum.add_product(a, b);
        sizes.add_product(std::abs(a), std::abs(b));
      }
      const double exact = sum.nearest();
      const double ulp = std::nextafter(std::abs(exact), kInfinity) - std::abs(exact);
      const double n = static_cast<double>(p.k + 1);
      const double allowed = std::max(1.0, 2 * n * n * 0x1p-106 * sizes.nearest() / ulp);
      ASSERT_LE(sum.ulps_from(result[element]), allowed)
          << what << std::hexfloat << ": " << result[element] << ", exactly " << exact;
    }
  }
}

TEST_P(ExactMatmulTest, WithinOneUlpOnEveryFamily) {
  for (const char* input : {"float16", "bfloat16", "float32"}) {
    for (const std::string& family : inputs::families()) {
      if (family.starts_with("special")) continue;
      const auto drawn = inputs::make(family, format_named(input), 3, 21, 90, 1);
      const Product p{3, 21, 90, drawn.a, drawn.b, {drawn.c.begin(), drawn.c.end()}};
      expect_close(p, std::string(input) + " " + family);
    }
  }
}

TEST_P(ExactMatmulTest, Float64Operands) {
  Random random(32, 1);
  for (const int spread : {0, 10, 100}) {
    for (const std::int64_t k : {1, 2, 100, 1000}) {
      Product p = zeros(2, 5, k);
      for (auto* operand : {&p.a, &p.b, &p.c}) {
        for (double& v : *operand) {
          v = std::ldexp(
              random.normal(),
              static_cast<int>(random.below(static_cast<unsigned>(2 * spread + 1))) - spread);
        }
      }
      expect_close(p, "spread " + std::to_string(spread));
    }
  }
}

// Sums whose condition numbers are far beyond what plain float64 can sum are still correct to one
// ulp.
TEST_P(ExactMatmulTest, IllConditionedSums) {
  Random random(32, 2);
  for (int round = 0; round < 100; ++round) {
    const std::int64_t k = 41;
    Product p = zeros(1, 1, k);
    oracle::MpfrSum sum;
    for (std::int64_t i = 0; i + 2 < k; ++i) {
      const auto term = at(i);
      const int exponent = static_cast<int>(random.below(20));
      p.a[term] = std::ldexp(random.normal(), exponent);
      p.b[term] = random.normal();
      sum.add_product(p.a[term], p.b[term]);
    }
    // The last two products cancel nearly all of the sum. About 2^-35 of it is left.
    p.a[39] = -sum.nearest();
    p.b[39] = 1;
    p.a[40] = (1 + random.uniform()) * 0x1p-15;
    p.b[40] = 1;
    sum.add_product(p.a[39], 1);
    sum.add_product(p.a[40], 1);
    ASSERT_LE(sum.ulps_from(p.run()[0]), 1.0);
    expect_close(p, "ill-conditioned");
  }
}

TEST_P(ExactMatmulTest, PlainFloat64WouldFail) {
  Product p = zeros(1, 1, 4);
  p.a = {0x1p60, 1, -0x1p60, 0x1p-40};
  p.b = {1, 1, 1, 1};
  EXPECT_EQ(p.run()[0], 1 + 0x1p-40);
  p.a = {1 + 0x1p-30, -1, 0x1p-61, -0x1p-29};  // (1 + 2^-30)^2 - 1 - 2^-29 + 2^-61
  p.b = {1 + 0x1p-30, 1, 1, 1};
  EXPECT_EQ(p.run()[0], 0x1.8p-60);
}

TEST_P(ExactMatmulTest, ShapesAndThreads) {
  Random random(32, 3);
  for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {7, 33, 17},
                                {3, 513, 4},
                                {2, 1025, 3},
                                {1, 512, 2},
                                {5, 3, 0},
                                {0, 3, 2},
                                {3, 0, 2}}) {
    Product p = zeros(m, n, k);
    for (auto* operand : {&p.a, &p.b, &p.c}) {
      for (double& v : *operand) v = static_cast<double>(random.below(201)) - 100;
    }
    const auto one = p.run(1), two = p.run(2), any = p.run(0);
    EXPECT_EQ(one, two);
    EXPECT_EQ(one, any);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = p.c[static_cast<std::size_t>(i * n + j)];
        for (std::int64_t kk = 0; kk < k; ++kk) {
          sum +=
              p.a[static_cast<std::size_t>(i * k + kk)] * p.b[static_cast<std::size_t>(kk * n + j)];
        }
        ASSERT_EQ(one[static_cast<std::size_t>(i * n + j)], sum);
      }
    }
  }
}

TEST_P(ExactMatmulTest, EveryTargetGivesTheSameBits) {
  const auto drawn = inputs::make("cancelling_wide", format_named("float32"), 3, 37, 50, 2);
  const Product p{3, 37, 50, drawn.a, drawn.b, {drawn.c.begin(), drawn.c.end()}};
  const auto here = p.run();
  simd::force_target("");
  const auto best = p.run();
  for (std::size_t i = 0; i < here.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint64_t>(here[i]), std::bit_cast<std::uint64_t>(best[i])) << i;
  }
}

TEST_P(ExactMatmulTest, Specials) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto sum = [](const std::vector<double>& products, double c) {
    const std::int64_t k = static_cast<std::int64_t>(products.size());
    Product p = zeros(1, 9, k);
    p.a = products;
    std::fill(p.b.begin(), p.b.end(), 1.0);
    std::fill(p.c.begin(), p.c.end(), c);
    const auto result = p.run();
    // The elements of the vector part and those of the rest must be equal.
    for (const double v : result) {
      EXPECT_TRUE(v == result[0] || (std::isnan(v) && std::isnan(result[0])));
    }
    return result[0];
  };
  EXPECT_TRUE(std::isnan(sum({1, nan}, 0)));
  EXPECT_TRUE(std::isnan(sum({1, 2}, nan)));
  EXPECT_TRUE(std::isnan(sum({kInfinity, -kInfinity}, 0)));
  EXPECT_EQ(sum({kInfinity, 1, -1e300}, 0), kInfinity);
  EXPECT_EQ(sum({1, 2}, -kInfinity), -kInfinity);
  EXPECT_EQ(sum({1e308, 1e308}, 0), kInfinity);
  EXPECT_EQ(sum({1e308, -1e308, 5}, 0), 5);
  EXPECT_EQ(sum({1e308, -5e307}, 3), 5e307);
}

// Returns the exact value of each element, computed by MPFR and rounded once. Special values are
// computed in float64 arithmetic.
std::vector<double> expected_of(const Product& p) {
  std::vector<double> out = p.c;
  oracle::MpfrSum sum(4400);  // from 2^-2148 to beyond 2^2048
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      double& element = out[at(i * p.n + j)];
      double plain = element;
      bool is_finite = std::isfinite(element), is_negative = std::signbit(element);
      sum.clear();
      if (is_finite) sum.add(element);
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double a = p.a[at(i * p.k + k)], b = p.b[at(k * p.n + j)];
        is_finite = is_finite && std::isfinite(a) && std::isfinite(b);
        is_negative = is_negative && std::signbit(a) != std::signbit(b);
        plain += a * b;
        if (is_finite && a != 0 && b != 0) sum.add_product(a, b);
      }
      const double nearest = sum.nearest();
      element = !is_finite ? plain : nearest == 0 && is_negative ? -0.0 : nearest;
    }
  }
  return out;
}

void expect_bits(const Product& p, const std::vector<double>& expected, const std::string& what) {
  for (const int threads : {1, 2}) {
    const std::vector<double> result = p.run(threads);
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(result[i])) continue;
      ASSERT_EQ(std::bit_cast<std::uint64_t>(result[i]), std::bit_cast<std::uint64_t>(expected[i]))
          << what << ", element " << i << std::hexfloat << ": " << result[i] << ", not "
          << expected[i];
    }
  }
}

void expect_rounded_once(const Product& p, const std::string& what) {
  // The expected results by name. All targets share them.
  static std::map<std::string, std::vector<double>> known;
  const auto [place, is_new] = known.try_emplace(what);
  if (is_new) place->second = expected_of(p);
  expect_bits(p, place->second, what);
}

// Shapes that fill tiles of every target, and leave rows, columns and parts of a stretch over.
TEST_P(ExactMatmulTest, TilesRoundOnce) {
  std::size_t place = 0;
  for (const char* input : {"float8_e4m3fn", "bfloat16", "float16", "float32"}) {
    for (const std::string& family : inputs::families()) {
      // A share is every fourth pair. The number of families is odd, so that it has each family in
      // one format.
      if (walks_a_share() && place++ % 4 != 0) continue;
      const std::int64_t rows = std::string(input) == "bfloat16" ? 51 : 13;
      const auto drawn = inputs::make(family, format_named(input), rows, 40, 260, 4);
      const Product p{rows, 40, 260, drawn.a, drawn.b, {drawn.c.begin(), drawn.c.end()}};
      expect_rounded_once(p, std::string(input) + " " + family);
    }
  }
}

// Tests one row more than a block of rows of A has, for any tile height of the targets.
TEST_P(ExactMatmulTest, ARowBeyondABlock) {
  for (const std::int64_t rows : {41, 43, 46, 49, 97}) {
    const auto drawn = inputs::make("normal", format_named("bfloat16"), rows, 40, 260, 6);
    const Product p{rows, 40, 260, drawn.a, drawn.b, {drawn.c.begin(), drawn.c.end()}};
    expect_rounded_once(p, std::to_string(rows) + " rows");
  }
}

// Tests sums that no pair of float64 can hold, in one tile of many or in all tiles.
TEST_P(ExactMatmulTest, TilesOfEveryRange) {
  Random random(32, 5);
  std::size_t place = 0;
  for (const int spread : {0, 15, 24, 30, 45, 60, 200, 500}) {
    for (const int bits : {8, 24, 26, 53}) {
      // A share is every third pair, which covers each spread and each number of bits.
      if (walks_a_share() && place++ % 3 != 0) continue;
      Product p = zeros(13, 40, 260);
      const auto drawn = [&] {
        const double unit = std::ldexp(1, bits - 1);
        const double whole = std::floor(unit + random.uniform() * unit) / unit;
        const int exponent =
            static_cast<int>(random.below(static_cast<unsigned>(2 * spread + 1))) - spread;
        return std::ldexp(random.below(2) != 0 ? whole : -whole, exponent);
      };
      for (double& v : p.a) v = drawn();
      for (double& v : p.b) v = drawn();
      const std::string what =
          "spread " + std::to_string(spread) + ", bits " + std::to_string(bits);
      expect_rounded_once(p, what);
      // The first four rows of a become ones, so that their sums are easy. b is scaled down.
      for (std::int64_t i = 0; i < 4 * p.k; ++i) p.a[at(i)] = 1;
      for (double& v : p.b) v = std::ldexp(v, -spread);
      expect_rounded_once(p, "easy rows, " + what);
    }
  }
}

// Ties that one bit of one product decides. The bit is far below what a float64 sum or its error
// carries. Some shapes are added by tiles and others are not, so that no path may round before the
// end.
TEST_P(ExactMatmulTest, TiesInEveryShape) {
  Random random(32, 8);
  constexpr std::int64_t kDepth = 256;
  for (const auto& [m, n] :
       {std::array<std::int64_t, 2>{1, 1}, {1, 64}, {3, 5}, {64, 4}, {64, 8}, {64, 64}, {13, 37}}) {
    Product p = zeros(m, n, kDepth);
    std::fill(p.b.begin(), p.b.end(), 1.0);
    for (std::int64_t i = 0; i < m; ++i) {
      double* row = p.a.data() + i * kDepth;
      row[0] = 1;
      row[1 + random.below(100)] = i % 3 == 1 ? 0x1.8p-52 : 0x1p-53;
      // Adds up to four far products, some of which may cancel.
      for (int e = 0; e < i % 5; ++e) {
        row[128 + random.below(128)] = random.below(2) != 0 ? 0x1p-106 : -0x1p-106;
      }
    }
    // This row has the data with which a defect was found: three far products in neighbouring
    // places.
    if (m > 2) {
      double* row = p.a.data() + 2 * kDepth;
      std::fill(row, row + kDepth, 0.0);
      row[0] = 1;
      row[1] = 0x1p-53;
      row[128] = row[129] = row[130] = 0x1p-106;
    }
    const std::string shape = std::to_string(m) + " x " + std::to_string(n);
    expect_rounded_once(p, "ties, " + shape);
    if (m > 2) {
      ASSERT_EQ(p.run()[at(2 * n)], 1 + 0x1p-52);
    }
    for (double& v : p.b) v = random.normal();  // 53 bits each
    for (double& v : p.c) v = random.normal();
    expect_rounded_once(p, "beside ties, " + shape);
    // The second half of each row cancels all but the last bits of the first half.
    for (std::int64_t i = 0; i < m; ++i) {
      double* row = p.a.data() + i * kDepth;
      for (std::int64_t k = 0; k < kDepth / 2; ++k) row[k + kDepth / 2] = -row[k];
      row[kDepth - 1] = 0x1p-90;
    }
    for (std::int64_t k = 0; k < kDepth / 2; ++k) {
      std::copy_n(p.b.data() + k * n, n, p.b.data() + (k + kDepth / 2) * n);
    }
    std::fill(p.c.begin(), p.c.end(), 0.0);
    expect_rounded_once(p, "little left, " + shape);
  }
}

// Tests sums whose partial sums overflow float64, and products below its range.
TEST_P(ExactMatmulTest, EveryExponent) {
  Random random(32, 9);
  for (const auto& [m, n] : {std::array<std::int64_t, 2>{1, 3}, {7, 1}, {13, 37}}) {
    for (const int shift : {-1060, -540, -500, 480, 505, 511, 960}) {
      Product p = zeros(m, n, 150);
      for (auto* operand : {&p.a, &p.b}) {
        for (double& v : *operand) v = std::ldexp(random.normal(), shift);
      }
      if (shift > 511 || shift < -1000) {
        for (double& v : p.b) v = std::ldexp(v, -shift);
      }
      for (double& v : p.c) v = random.below(2) != 0 ? 0 : std::ldexp(random.normal(), shift);
      expect_rounded_once(p, "exponent " + std::to_string(shift) + ", " + std::to_string(m));
    }
  }
  Product p = zeros(1, 9, 3);
  std::fill(p.b.begin(), p.b.end(), 1.0);
  p.a = {1e308, 1e308, -1.5e308};
  expect_rounded_once(p, "beyond float64 on the way");
  for (const double v : p.run()) EXPECT_LT(v, 1e308);
}

// Tests rows of A, columns of B and elements of C that are not finite, and zeros with a sign, in
// products of tiles.
TEST_P(ExactMatmulTest, SpecialsInTiles) {
  Random random(32, 6);
  // The products are summed in one part or in two, depending on the scale.
  for (const double scale : {1.0, 0x1p60}) {
    Product p = zeros(27, 66, 140);
    for (double& v : p.a) v = static_cast<double>(static_cast<float>(random.normal()));
    for (double& v : p.b) v = static_cast<double>(static_cast<float>(scale * random.normal()));
    for (double& v : p.c) v = random.normal();
    p.b[5] = 0x1p-60;
    p.a[at(3 * p.k + 7)] = kNan;
    p.a[at(9 * p.k + 1)] = kInfinity;
    p.a[at(9 * p.k + 139)] = -kInfinity;
    p.a[at(26 * p.k)] = kInfinity;
    p.b[at(12 * p.n + 65)] = -kInfinity;
    p.b[at(13 * p.n + 2)] = kNan;
    p.c[at(14 * p.n + 33)] = kInfinity;
    p.c[at(15 * p.n + 34)] = kNan;
    for (std::int64_t k = 0; k < p.k; ++k) p.a[at(20 * p.k + k)] = -0.0;  // 0 or -0 times B
    for (std::int64_t k = 0; k < p.k; ++k) p.b[at(k * p.n + 11)] = 0;
    for (std::int64_t j = 0; j < p.n; ++j) p.c[at(20 * p.n + j)] = -0.0;
    for (std::int64_t i = 0; i < p.m; ++i) p.c[at(i * p.n + 11)] = -0.0;
    expect_rounded_once(p, "specials, scale " + std::to_string(scale));
  }
}

// Factors of very large and very small exponents have a product of ordinary size.
TEST_P(ExactMatmulTest, HugeTimesTiny) {
  Product p = zeros(1, 9, 2);
  p.a = {0x1.8p1000, -3};
  std::fill(p.b.begin(), p.b.begin() + 9, 0x1p-999);
  std::fill(p.b.begin() + 9, p.b.end(), 0.5);
  for (const double v : p.run()) ASSERT_EQ(v, 1.5);
  std::swap(p.a[0], p.a[1]);
  std::fill(p.b.begin(), p.b.begin() + 9, 0.5);
  std::fill(p.b.begin() + 9, p.b.end(), 0x1p-999);
  for (const double v : p.run()) ASSERT_EQ(v, 1.5);
}

TEST_P(ExactMatmulTest, NegativeZeros) {
  Product p = zeros(1, 9, 2);
  p.a = {-0.0, -0.0};
  std::fill(p.b.begin(), p.b.end(), 1.0);
  for (const double v : p.run()) ASSERT_FALSE(std::signbit(v));  // +0 + -0
  std::fill(p.c.begin(), p.c.end(), -0.0);
  for (const double v : p.run())
    // The sum of only -0 is -0, as in float64 arithmetic and in the dot models.
    EXPECT_TRUE(std::signbit(v));
}

// Tests products near the largest float64, which no tile may drop, a few products far below it, and
// sums that overflow.
TEST_P(ExactMatmulTest, TilesOfHugeProducts) {
  Random random(32, 7);
  for (const int exponent : {480, 490, 495, 497, 500, 505, 508, 511}) {
    Product p = zeros(13, 40, 140);
    for (auto* operand : {&p.a, &p.b}) {
      for (double& v : *operand) {
        v = std::ldexp(static_cast<double>(random.below(255)) - 127, exponent - 7);
      }
    }
    for (double& v : p.c) v = random.normal();
    expect_rounded_once(p, "exponent " + std::to_string(exponent));
  }
}

// Each product fits in float64, but the largest sums have 54 bits, one more than float64 holds.
// Float64 would lose each 1 if it added them one after the other. If the large product is half that
// size, float64 holds every sum.
TEST_P(ExactMatmulTest, TilesThatJustDoNotFit) {
  for (const int bits : {52, 53, 54}) {
    for (const int scale : {-400, -30, 0, 200}) {
      Product p = zeros(13, 40, 8);
      const double one = std::ldexp(1.0, scale);
      const double large = std::ldexp(1.0, bits - 27);
      for (std::int64_t i = 0; i < p.m; ++i) {
        p.a[at(i * p.k)] = one * large;
        p.a[at(i * p.k + 1)] = p.a[at(i * p.k + 2)] = one;
      }
      for (std::int64_t j = 0; j < p.n; ++j) {
        p.b[at(j)] = 0x1p26;
        p.b[at(p.n + j)] = p.b[at(2 * p.n + j)] = 1;
      }
      const double wanted = std::ldexp(std::ldexp(1.0, bits - 1) + 2, scale);
      for (const double v : p.run()) ASSERT_EQ(v, wanted) << bits << " bits, 2^" << scale;
    }
  }
}

// The same sums in several stretches of k. Each stretch fits in float64, and so does the initial
// value, but their total does not. No 1 may be lost, although each comes in another stretch.
TEST_P(ExactMatmulTest, StretchesThatJustDoNotFit) {
  for (const int bits : {52, 53, 54}) {
    const double large = std::ldexp(1.0, bits - 1);
    // The large value is that of C or of a product.
    for (const bool begins : {false, true}) {
      Product p = zeros(13, 40, 390);
      for (std::int64_t i = 0; i < p.m; ++i) {
        p.a[at(i * p.k)] = begins ? 0 : large / 0x1p26;
        p.a[at(i * p.k + 130)] = p.a[at(i * p.k + 270)] = 1;
      }
      for (std::int64_t j = 0; j < p.n; ++j) {
        p.b[at(j)] = 0x1p26;
        p.b[at(130 * p.n + j)] = p.b[at(270 * p.n + j)] = 1;
      }
      if (begins) p.c.assign(p.c.size(), large);
      for (const double v : p.run()) ASSERT_EQ(v, large + 2) << bits << " bits";
    }
  }
}

// The products are multiples of such large powers of two that no float64 of 53 bits also holds the
// initial value. It must survive two products that cancel.
TEST_P(ExactMatmulTest, AStartBesideHugeProducts) {
  Product p = zeros(13, 40, 130);
  for (std::int64_t i = 0; i < p.m; ++i) p.a[at(i * p.k)] = p.a[at(i * p.k + 128)] = 0x1p486;
  for (std::int64_t j = 0; j < p.n; ++j) {
    p.b[at(j)] = 0x1p486;
    p.b[at(128 * p.n + j)] = -0x1p486;
  }
  p.c.assign(p.c.size(), 1);
  for (const double v : p.run()) ASSERT_EQ(v, 1);
}

// Beside sums of few bits that are taken in two parts, a sum of only -0 keeps its sign. It is a row
// whose products are -0, added to -0 and to +0, at every place of its tile.
TEST_P(ExactMatmulTest, NegativeZerosBesideWideSums) {
  Random random(32, 8);
  for (std::int64_t zero = 0; zero < 13; ++zero) {
    Product p = zeros(13, 40, 8);
    for (auto* operand : {&p.a, &p.b}) {
      for (double& v : *operand) {
        v = std::ldexp(static_cast<double>(1 + random.below(15)),
                       static_cast<int>(random.below(31)));
      }
    }
    for (std::int64_t k = 0; k < 8; ++k) p.a[at(zero * 8 + k)] = -0.0;
    for (std::int64_t j = 0; j < 40; ++j) p.c[at(zero * 40 + j)] = j % 3 == 0 ? 0.0 : -0.0;
    const std::vector<double> result = p.run();
    for (std::int64_t j = 0; j < 40; ++j) {
      const double got = result[at(zero * 40 + j)];
      ASSERT_EQ(got, 0);
      ASSERT_EQ(std::signbit(got), j % 3 != 0) << "row " << zero << " column " << j;
    }
  }
}

}  // namespace
}  // namespace assay
