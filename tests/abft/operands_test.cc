// Tests the operands: rows of matrices in any memory layout, checksums and statistics. They are
// compared with loops in long double, on every SIMD target.
#include "assay/abft/operands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "abft/oracle.h"
#include "assay/abft/terms.h"
#include "assay/base/index.h"
#include "assay/simd/packed_product.h"
#include "simd/target_fixture.h"

namespace assay::abft {
namespace {

using testing_oracle::Made;
using testing_oracle::Problem;
using testing_oracle::random_product;
using testing_oracle::Real;

TEST(MatrixRows, ReadsInPlaceWhereItCan) {
  const Made made = random_product(5, 9, 4, "bfloat16", "bfloat16", 4, 1);
  const TensorView c = made.c.view();
  EXPECT_EQ(MatrixRows(c).row(2), c.data + 2 * 9 * 2);
  const TensorView rows{c.data + 2, c.format, {4, 5}, {9, 1}};  // a block
  EXPECT_EQ(MatrixRows(rows).row(1), c.data + 2 + 18);
  // The stride of a single column is never used.
  const TensorView column{c.data + 2, c.format, {5, 1}, {9, 77}};
  EXPECT_EQ(MatrixRows(column).row(4), c.data + 2 + 4 * 18);
  const TensorView repeated{c.data, c.format, {3, 9}, {0, 1}};
  EXPECT_EQ(MatrixRows(repeated).row(2), c.data);
  EXPECT_NE(MatrixRows(c.transposed()).row(0), c.data);
}

TEST(MatrixRows, ReadsTheSameValuesOfEveryFormatAndLayout) {
  for (const Format& f : formats()) {
    if (f.specials == assay::Specials::kScale) continue;
    Random random(3, 1);
    std::vector<double> values(35);
    for (double& v : values) v = std::round(random.normal() * 4) / 4;
    if (f.kind == Kind::kUnsigned || f.kind == Kind::kBool) {
      for (double& v : values) v = std::abs(v);
    }
    const Tensor t = Tensor::from_values(f, {5, 7}, values);
    const std::vector<double> wanted = t.view().values();
    const MatrixRows rows(t), turned(t.view().transposed());
    simd::Storage storage;
    EXPECT_EQ(checksum_storage(f, storage),
              f.is_float() && (f.storage_bytes >= 4 || f.name == "float16" || f.name == "bfloat16"))
        << f.name;
    if (checksum_storage(f, storage)) {
      EXPECT_EQ(rows.storage(), storage);
    } else {
      EXPECT_EQ(rows.storage(), simd::Storage::kF64);
    }
    EXPECT_EQ(turned.rows(), 7);
    EXPECT_EQ(turned.columns(), 5);
    for (std::int64_t i = 0; i < 5; ++i) {
      for (std::int64_t j = 0; j < 7; ++j) {
        double direct = 0, across = 0;
        rows.read(i, j, 1, &direct);
        turned.read(j, i, 1, &across);
        EXPECT_EQ(direct, wanted[at(i * 7 + j)]) << f.name;
        EXPECT_EQ(across, direct) << f.name;
      }
    }
  }
}

class OperandTest : public simd::OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, OperandTest, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

Operands operands_of(const Made& made) {
  return {MatrixRows(made.a), MatrixRows(made.b), made.problem.bias, made.problem.row_bias};
}

TEST_P(OperandTest, ChecksumsAndSquares) {
  std::uint64_t stream = 500;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
           {1, 1, 1}, {3, 37, 5}, {200, 18, 3}, {5, 16, 300}, {2, 130, 9}}) {
    std::vector<double> bias(at(n)), row_bias(at(m));
    Random random(8, stream);
    for (double& v : bias) v = random.normal();
    for (double& v : row_bias) v = random.normal();
    for (const char* dtype : {"bfloat16", "float16", "float32", "float64", "float8_e5m2", "int8"}) {
      Made made =
          random_product(m, n, k, dtype, "float32", dtype[0] == 'i' ? 6 : 3, ++stream, bias);
      made.problem.row_bias = row_bias;
      const Operands o = operands_of(made);
      const Problem& p = made.problem;
      for (const std::int64_t width : {std::int64_t{1}, std::int64_t{3}, std::int64_t{16}, n}) {
        const Checksums alone = operand_checksums(o, width, Beside::kNothing, 1);
        EXPECT_TRUE(alone.squares.empty());
        EXPECT_EQ(alone.square(0, 0, m), 0);
        for (const bool exact : {false, true}) {
          const Beside wanted = exact ? Beside::kSquares : Beside::kSquareBounds;
          const Checksums one = operand_checksums(o, width, wanted, 1);
          const Checksums two = operand_checksums(o, width, wanted, 2);
          EXPECT_EQ(one.sums, alone.sums);
          EXPECT_EQ(one.sums, two.sums);
          EXPECT_EQ(one.squares, two.squares);
          ASSERT_EQ(one.groups, (n + width - 1) / width);
          for (std::int64_t i = 0; i < m; i += std::max<std::int64_t>(1, m / 7)) {
            for (std::int64_t g = 0; g < one.groups; ++g) {
              Real sum = 0, size = 0, squares = 0;
              for (std::int64_t j = g * width; j < std::min(n, (g + 1) * width); ++j) {
                sum += p.bias_at(i, j);
                size += std::abs(p.bias_at(i, j));
                for (std::int64_t kk = 0; kk < k; ++kk) {
                  const Real product = Real(p.a(i, kk)) * p.b(kk, j);
                  sum += product;
                  size += std::abs(product);
                  squares += product * product;
                }
              }
              ASSERT_NEAR(one.sums[at(i * one.groups + g)], static_cast<double>(sum),
                          static_cast<double>(size) * 0x1p-44);
              const double got = one.square(i, g, m);
              if (exact || one.groups == 1) {
                // Squares of long rows of 16-bit elements are accurate to 2^-19, as documented.
                ASSERT_NEAR(
                    got, static_cast<double>(squares),
                    static_cast<double>(squares) * (k < 256 && n < 256 ? 0x1p-44 : 0x1p-19));
              } else {
                ASSERT_GE(got, static_cast<double>(squares) * (1 - 0x1p-44));
              }
            }
          }
        }
      }
    }
  }
}

TEST_P(OperandTest, GoldenChecksums) {
  const Made made = random_product(70, 37, 5, "bfloat16", "float16", 4, 600);
  for (const std::int64_t width : {1, 16, 37}) {
    const Checksums sums = golden_checksums(MatrixRows(made.c), width, 2);
    ASSERT_EQ(sums.groups, (37 + width - 1) / width);
    EXPECT_EQ(sums.square(3, 0, 70), 0);
    for (std::int64_t i = 0; i < 70; ++i) {
      for (std::int64_t g = 0; g < sums.groups; ++g) {
        Real sum = 0, size = 0;
        for (std::int64_t j = g * width; j < std::min<std::int64_t>(37, (g + 1) * width); ++j) {
          sum += made.problem.c(i, j);
          size += std::abs(Real(made.problem.c(i, j)));
        }
        ASSERT_NEAR(sums.sums[at(i * sums.groups + g)], static_cast<double>(sum),
                    static_cast<double>(size) * 0x1p-46);
      }
    }
  }
}

TEST_P(OperandTest, Terms) {
  std::uint64_t stream = 700;
  for (const char* dtype : {"bfloat16", "float16", "float32", "float8_e4m3fn"}) {
    const Made made = random_product(130, 19, 21, dtype, "bfloat16", 3, ++stream);
    const Operands o = operands_of(made);
    const Problem& p = made.problem;
    const std::vector<device::VAbftSums> v = v_abft_terms(o, {.width = 19}, 1),
                                         v2 = v_abft_terms(o, {.width = 19}, 2);
    const Checksums a = operand_checksums(o, 19, Beside::kSizesAndProducts, 1),
                    a2 = operand_checksums(o, 19, Beside::kSizesAndProducts, 2),
                    without = operand_checksums(o, 19, Beside::kSizes, 1);
    EXPECT_EQ(a.sums, operand_checksums(o, 19, Beside::kNothing, 1).sums);
    EXPECT_EQ(without.sums, a.sums);
    EXPECT_EQ(a2.sums, a.sums);
    EXPECT_TRUE(a.squares.empty());
    const std::vector<double> absolute = absolute_products(o, 2);
    for (std::size_t i = 0; i < 130; ++i) {
      for (const Checksums* other : {&a2, &without}) {
        EXPECT_EQ(other->sizes[i].weighted, a.sizes[i].weighted);
        EXPECT_EQ(other->sizes[i].largest, a.sizes[i].largest);
      }
      EXPECT_EQ(a2.sizes[i].product, a.sizes[i].product);
      EXPECT_EQ(without.sizes[i].product, 0);
    }
    ASSERT_EQ(v.size(), 130u);
    double largest_b = 0;
    for (const double b : p.b.values) largest_b = std::max(largest_b, std::abs(b));
    EXPECT_EQ(a.largest_b, largest_b);
    for (std::int64_t i = 0; i < 130; ++i) {
      const device::VAbftSums& t = v[at(i)];
      EXPECT_EQ(t.mixed, v2[at(i)].mixed);
      const auto wanted = static_cast<double>(testing_oracle::v_abft(p, i, 1, 2.5L));
      EXPECT_NEAR(t.mean + 2.5 * (t.mixed + t.pure), wanted, wanted * 1e-12);
      const auto only_mean = static_cast<double>(testing_oracle::v_abft(p, i, 1, 0));
      EXPECT_NEAR(t.mean, only_mean, only_mean * 1e-11 + wanted * 1e-13);
      double largest_a = 0;
      Real weighted = 0, product = 0, sizes = 0;
      for (std::int64_t k = 0; k < 21; ++k) {
        double row = 0;
        Real sum = 0, size = 0;
        for (std::int64_t j = 0; j < 19; ++j) {
          row = std::max(row, std::abs(p.b(k, j)));
          sum += Real(p.b(k, j));
          size += std::abs(Real(p.b(k, j)));
        }
        product = std::max(product, std::abs(Real(p.a(i, k)) * sum));
        sizes += std::abs(Real(p.a(i, k))) * size;
        weighted += std::abs(Real(p.a(i, k))) * row;
        largest_a = std::max(largest_a, std::abs(p.a(i, k)));
      }
      EXPECT_EQ(a.sizes[at(i)].largest, largest_a);
      EXPECT_NEAR(a.sizes[at(i)].weighted, static_cast<double>(weighted),
                  static_cast<double>(weighted) * 1e-14);
      // The sum of a row of B may cancel. Its error is small compared with the terms of the sum,
      // not with the sum itself.
      EXPECT_NEAR(a.sizes[at(i)].product, static_cast<double>(product),
                  static_cast<double>(sizes) * 1e-14);
      EXPECT_NEAR(absolute[at(i)], static_cast<double>(sizes), static_cast<double>(sizes) * 1e-14);
    }
  }
}

// An overflowed sum of a row of B, times an element of A that is 0, is 0 on every target.
TEST_P(OperandTest, AnInfiniteSumTimesZero) {
  const Format& f = format_named("float64");
  const double most = std::numeric_limits<double>::max();
  std::vector<double> a(20, 0.0);
  a[3] = 1;
  std::vector<double> b(40, 0.0);
  b[0] = b[1] = most;
  b[6] = 3;
  const Tensor left = Tensor::from_values(f, {1, 20}, a),
               right = Tensor::from_values(f, {20, 2}, b);
  const Operands o{.a = MatrixRows(left), .b = MatrixRows(right), .bias = {}, .row_bias = {}};
  const Checksums sums = operand_checksums(o, 2, Beside::kSizesAndProducts, 1);
  EXPECT_EQ(sums.sizes[0].product, 3);
  EXPECT_EQ(sums.sizes[0].weighted, 3);
}

// A product without columns, or without terms, has nothing to add.
TEST(OperandChecksums, OfEmptyProducts) {
  const Format& f = format_named("bfloat16");
  for (const Beside beside : {Beside::kNothing, Beside::kSquareBounds, Beside::kSquares,
                              Beside::kSizes, Beside::kSizesAndProducts}) {
    const Tensor a(f, {3, 4}), no_columns(f, {4, 0}), no_depth(f, {3, 0}), no_rows(f, {0, 5});
    const Operands narrow{MatrixRows(a), MatrixRows(no_columns), {}, {}};
    EXPECT_TRUE(operand_checksums(narrow, 1, beside, 1).sums.empty());
    const Operands flat{MatrixRows(no_depth), MatrixRows(no_rows), {}, {}};
    EXPECT_EQ(operand_checksums(flat, 5, beside, 1).sums, std::vector<double>(3, 0.0));
  }
}

// With `sign`, each element of A counts with its sign, which is 0 for zeros. A zero therefore
// neither adds nor subtracts anything.
TEST(GroupedProducts, OfValuesAndOfTheirSigns) {
  const Tensor a = Tensor::from_values(format_named("float32"), {2, 4},
                                       std::vector<double>{0, 2, -3, -0.0, 5, 0, 0, -0x1p-149});
  const auto products = [&](bool sign) {
    return grouped_products(
        MatrixRows(a), 2, sign,
        [](std::int64_t k, double* to) {
          to[0] = std::ldexp(1.0, static_cast<int>(k));
          to[1] = 10 * to[0];
        },
        1);
  };
  EXPECT_EQ(products(true), (std::vector<double>{2 - 4, 20 - 40, 1 - 8, 10 - 80}));
  const double least = 0x1p-149;
  EXPECT_EQ(products(false), (std::vector<double>{4 - 12, 40 - 120, 5 - 8 * least, 50}));
}

// There are more rows than a kernel takes at once. Each result gets its own place.
TEST(GroupedProducts, OfManyRows) {
  const std::int64_t m = 2 * simd::kProductRows + 7, k = 3, groups = 2;
  Random random(8, 900);
  std::vector<double> values(at(m * k));
  for (double& v : values) v = static_cast<double>(random.below(17)) - 8;
  const Tensor a = Tensor::from_values(format_named("bfloat16"), {m, k}, values);
  const auto b = [](std::int64_t kk, std::int64_t g) {
    return static_cast<double>(3 * kk - 5 * g);
  };
  for (const bool sign : {false, true}) {
    const std::vector<double> products = grouped_products(
        MatrixRows(a), groups, sign,
        [&](std::int64_t kk, double* to) {
          for (std::int64_t g = 0; g < groups; ++g) to[g] = b(kk, g);
        },
        1);
    ASSERT_EQ(products.size(), at(m * groups));
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t g = 0; g < groups; ++g) {
        double sum = 0;
        for (std::int64_t kk = 0; kk < k; ++kk) {
          const double v = values[at(i * k + kk)];
          sum += (sign && v != 0 ? std::copysign(1, v) : v) * b(kk, g);
        }
        ASSERT_EQ(products[at(i * groups + g)], sum) << i << " " << g;
      }
    }
  }
}

// Sums of squares of products of float32's largest values are about 1e154, which is far below
// float64's largest value.
TEST(OperandRange, TheLargestFloat32ValuesDoNotOverflow) {
  const Tensor a =
      Tensor::from_values(format_named("float32"), {2, 3}, std::vector<double>(6, 3e38));
  const Tensor b =
      Tensor::from_values(format_named("float32"), {3, 20}, std::vector<double>(60, -3e38));
  const Operands o{MatrixRows(a), MatrixRows(b), {}, {}};
  for (const std::int64_t width : {1, 16, 20}) {
    const Checksums sums = operand_checksums(o, width, Beside::kSquares, 1);
    for (const double s : sums.sums) EXPECT_TRUE(std::isfinite(s));
    for (const double s : sums.squares) EXPECT_TRUE(std::isfinite(s));
  }
  for (const device::VAbftSums& t : v_abft_terms(o, {.width = 1}, 1)) {
    EXPECT_TRUE(std::isfinite(t.mean));
    EXPECT_EQ(t.pure, 0);
    EXPECT_EQ(t.mixed, 0);
  }
}

// The factors of each row of B are read once, and no other row is read.
TEST(GroupedProducts, AskOnceForEachRow) {
  for (const std::int64_t k :
       {std::int64_t{1}, std::int64_t{5}, simd::kProductRows, simd::kProductRows + 1}) {
    const Tensor a =
        Tensor::from_values(format_named("float32"), {2, k}, std::vector<double>(at(2 * k), 1.0));
    std::vector<std::int64_t> asked;
    const std::vector<double> products = grouped_products(
        MatrixRows(a), 1, false,
        [&](std::int64_t kk, double* to) {
          asked.push_back(kk);
          *to = static_cast<double>(kk);
        },
        1);
    std::vector<std::int64_t> wanted(at(k));
    for (std::int64_t kk = 0; kk < k; ++kk) wanted[at(kk)] = kk;
    EXPECT_EQ(asked, wanted);
    EXPECT_EQ(products, std::vector<double>(2, static_cast<double>(k * (k - 1) / 2)));
  }
}

}  // namespace
}  // namespace assay::abft
