// A product that is too large for a golden result: 4096 x 4096 x 2048, judged in O(N^2) by whole
// rows.
#include <assay/machine.h>
#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <cmath>

using assay::AbftClose;
using assay::Tensor;

namespace {

constexpr std::int64_t kM = 4096, kN = 4096, kK = 2048;

Tensor matrix(std::int64_t rows, std::int64_t columns, double step) {
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::fmod(step * static_cast<double>(i), 2.0) - 1;
  }
  return Tensor::from_values(assay::format_named("bfloat16"), {rows, columns}, values);
}

// Stands in for the device. All rows of A are equal, so one row of the product is computed and
// copied.
Tensor product_of_equal_rows(const Tensor& a, const Tensor& b) {
  const std::vector<double> av = a.view().values(), bv = b.view().values();
  std::vector<float> row(static_cast<std::size_t>(kN), 0.0f);
  assay::dot_matmul(assay::dot_model(assay::machine_named("ascend910b"), a.format()), 1, kN, kK,
                    av.data(), bv.data(), row.data());
  std::vector<double> values;
  for (std::int64_t i = 0; i < kM; ++i) values.insert(values.end(), row.begin(), row.end());
  return Tensor::from_values(a.format(), {kM, kN}, values);
}

TEST(AbftLarge, WholeRowsSeeAFlip) {
  Tensor a = matrix(1, kK, 0.618033988749895);
  std::vector<double> rows;
  for (std::int64_t i = 0; i < kM; ++i) {
    const std::vector<double> one = a.view().values();
    rows.insert(rows.end(), one.begin(), one.end());
  }
  a = Tensor::from_values(a.format(), {kM, kK}, rows);
  const Tensor b = matrix(kK, kN, 0.7548776662466927);
  Tensor c = product_of_equal_rows(a, b);

  EXPECT_THAT(c, AbftClose(a, b).whole_rows());

  c.set_bits(12345678, c.bits_at(12345678) ^ 0x4000);
  EXPECT_THAT(c, testing::Not(AbftClose(a, b).whole_rows()));
}

}  // namespace
