#include "assay/tensor/eigen.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace assay {
namespace {

using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Expects every element at its place in the Eigen matrix.
template <typename Derived>
void expect_same(const Eigen::DenseBase<Derived>& matrix) {
  const Derived& m = matrix.derived();
  const TensorView v = view(m);
  ASSERT_EQ(v.rank(), 2);
  ASSERT_EQ(v.shape, (Shape{m.rows(), m.cols()}));
  for (std::int64_t i = 0; i < m.rows(); ++i) {
    for (std::int64_t j = 0; j < m.cols(); ++j) {
      ASSERT_EQ(v.value_at(i * m.cols() + j), static_cast<double>(m(i, j))) << i << " " << j;
    }
  }
  ASSERT_EQ(v.data, reinterpret_cast<const std::byte*>(m.data()));  // a view, no copy
}

Eigen::MatrixXf counted_matrix(int rows, int cols) {
  Eigen::MatrixXf m(rows, cols);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) m(i, j) = static_cast<float>(100 * i + j);
  }
  return m;
}

TEST(EigenViewTest, BothStorageOrders) {
  const Eigen::MatrixXf columns = counted_matrix(3, 5);
  const RowMajor rows = columns;
  expect_same(columns);
  expect_same(rows);
  EXPECT_TRUE(view(rows).is_contiguous());
  EXPECT_FALSE(view(columns).is_contiguous());
  EXPECT_EQ(view(columns).values(), view(rows).values());
}

TEST(EigenViewTest, BlocksTransposesAndMaps) {
  Eigen::MatrixXf m = counted_matrix(6, 7);
  RowMajor r = m;
  expect_same(m.block(1, 2, 3, 4));
  expect_same(r.block(1, 2, 3, 4));
  expect_same(m.transpose());
  expect_same(r.transpose());
  expect_same(m.block(1, 2, 3, 4).transpose());
  expect_same(m.middleRows(2, 3));
  expect_same(m.array());
  std::vector<float> raw(100);
  for (std::size_t i = 0; i < raw.size(); ++i) raw[i] = static_cast<float>(i);
  using Steps = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
  expect_same(Eigen::Map<Eigen::MatrixXf, 0, Steps>(raw.data(), 4, 5, Steps(20, 2)));
  expect_same(Eigen::Map<RowMajor, 0, Steps>(raw.data(), 4, 5, Steps(20, 3)));
  expect_same(Eigen::Map<const Eigen::MatrixXf>(raw.data(), 4, 5));
  expect_same(Eigen::Ref<Eigen::MatrixXf>(m));
  expect_same(Eigen::Matrix3f(counted_matrix(3, 3)));
}

TEST(EigenViewTest, VectorsHaveRankOne) {
  Eigen::MatrixXf m = counted_matrix(4, 5);
  RowMajor r = m;
  const Eigen::VectorXd v = Eigen::VectorXd::LinSpaced(6, 0, 5);
  EXPECT_EQ(view(v).shape, Shape{6});
  EXPECT_EQ(view(v).values(), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(view(v).format->name, "float64");
  const Eigen::RowVectorXf across = m.row(0);
  EXPECT_EQ(view(across).shape, Shape{5});
  EXPECT_EQ(view(m.row(2)).values(), (std::vector<double>{200, 201, 202, 203, 204}));
  EXPECT_EQ(view(m.col(1)).values(), (std::vector<double>{1, 101, 201, 301}));
  EXPECT_EQ(view(r.row(2)).values(), (std::vector<double>{200, 201, 202, 203, 204}));
  EXPECT_EQ(view(r.col(1)).values(), (std::vector<double>{1, 101, 201, 301}));
  EXPECT_EQ(view(m.diagonal()).values(), (std::vector<double>{0, 101, 202, 303}));
  EXPECT_EQ(view(v.segment(2, 3)).values(), (std::vector<double>{2, 3, 4}));
}

TEST(EigenViewTest, Scalars) {
  Eigen::Matrix<Eigen::half, 2, 2> half;
  half << Eigen::half(1.5f), Eigen::half(-2.0f), Eigen::half(65504.0f), Eigen::half(0x1p-24f);
  EXPECT_EQ(view(half).format->name, "float16");
  EXPECT_EQ(view(half).values(), (std::vector<double>{1.5, -2, 65504, 0x1p-24}));
  Eigen::Matrix<Eigen::bfloat16, 1, 2> bf16;
  bf16 << Eigen::bfloat16(3.0f), Eigen::bfloat16(1e38f);
  EXPECT_EQ(view(bf16).format->name, "bfloat16");
  EXPECT_EQ(view(bf16).value_at(0), 3);
  Eigen::Matrix<std::int8_t, 2, 1> bytes;
  bytes << -128, 127;
  EXPECT_EQ(view(bytes).values(), (std::vector<double>{-128, 127}));
  const std::vector<Eigen::half> list = {Eigen::half(1.0f), Eigen::half(2.0f)};
  EXPECT_EQ(view(list).values(), (std::vector<double>{1, 2}));
}

TEST(EigenViewTest, EmptyMatrices) {
  const Eigen::MatrixXf none(0, 3);
  EXPECT_EQ(view(none).shape, (Shape{0, 3}));
  EXPECT_TRUE(view(none).values().empty());
}

template <typename T>
concept HasView = requires(const T& t) {
  view(t);
};

TEST(EigenViewTest, ExpressionsMustBeEvaluatedFirst) {
  using Sum =
      decltype(std::declval<const Eigen::MatrixXf&>() + std::declval<const Eigen::MatrixXf&>());
  using Product =
      decltype(std::declval<const Eigen::MatrixXf&>() * std::declval<const Eigen::MatrixXf&>());
  EXPECT_FALSE(HasView<Sum>);
  EXPECT_FALSE(HasView<Product>);
  EXPECT_TRUE(HasView<Eigen::MatrixXf>);
  EXPECT_TRUE(HasView<Eigen::MatrixXcf>);
  using WithoutFormat = Eigen::Matrix<std::complex<long double>, 2, 2>;
  EXPECT_FALSE(HasView<WithoutFormat>);
}

TEST(EigenViewTest, ComplexMatrices) {
  Eigen::MatrixXcd m(2, 2);
  m << std::complex<double>(1, 2), std::complex<double>(3, 4), std::complex<double>(5, 6),
      std::complex<double>(7, 8);
  EXPECT_EQ(view(m).format->name, "complex128");
  EXPECT_EQ(parts_of(view(m)).shape, (Shape{2, 2, 2}));
  EXPECT_EQ(parts_of(view(m)).values(), (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
}

}  // namespace
}  // namespace assay
