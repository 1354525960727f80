// Tests how failure messages print values: by dtype and shape, and never as a whole.
#include <assay/matchers.h>
#include <assay/matchers/eigen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "matchers/texts.h"

namespace assay {
namespace {

using testing::PrintToString;

TEST(Print, Tensors) {
  EXPECT_EQ(PrintToString(tensor("bfloat16", {2, 2}, {1, -2, 0.5, 3})),
            "bfloat16 [2, 2] {1, -2, 0.5, 3}");
  EXPECT_EQ(PrintToString(tensor("float32", {}, {3})), "float32 [] {3}");
  EXPECT_EQ(PrintToString(tensor("float32", {0, 3}, {})), "float32 [0, 3]");
  EXPECT_EQ(PrintToString(tensor("float16", {9}, {1, 2, 3, 4, 5, 6, 7, 8, 9})),
            "float16 [9] {1, 2, 3, 4, 5, 6, 7, 8, ...}");
  EXPECT_EQ(PrintToString(tensor("float16", {8}, {1, 2, 3, 4, 5, 6, 7, 8})),
            "float16 [8] {1, 2, 3, 4, 5, 6, 7, 8}");
  const Tensor t = tensor("float64", {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(PrintToString(t.view().transposed()), "float64 [3, 2] {1, 4, 2, 5, 3, 6}");
}

TEST(Print, IntegersWithAllDigits) {
  EXPECT_EQ(PrintToString(tensor("int32", {2}, {123456789, -7})), "int32 [2] {123456789, -7}");
  EXPECT_EQ(PrintToString(tensor("bool", {2}, {1, 0})), "bool [2] {1, 0}");
  const std::vector<std::int64_t> large = {(std::int64_t{1} << 53) + 1};
  EXPECT_EQ(PrintToString(view(large)), "int64 [1] {9007199254740993}");
}

TEST(Print, EigenMatricesVectorsAndArrays) {
  Eigen::MatrixXf m(2, 2);
  m << 1, 2, 3, 4;
  EXPECT_EQ(PrintToString(m), "float32 [2, 2] {1, 2, 3, 4}");
  EXPECT_EQ(PrintToString(Eigen::ArrayXXf(m.array())), "float32 [2, 2] {1, 2, 3, 4}");
  EXPECT_EQ(PrintToString(Eigen::Vector3d(1, 2, 3)), "float64 [3] {1, 2, 3}");
  using Half = Eigen::Matrix<Eigen::half, 2, 2, Eigen::RowMajor>;
  EXPECT_EQ(PrintToString(Half(m.cast<Eigen::half>())), "float16 [2, 2] {1, 2, 3, 4}");
  EXPECT_LT(PrintToString(Eigen::MatrixXf::Zero(300, 300).eval()).size(), 100u);
}

// Parts and maps of matrices are printed briefly, too.
TEST(Print, EigenMapsBlocksAndExpressions) {
  Eigen::MatrixXf m = Eigen::MatrixXf::Constant(200, 200, 1.25F);
  EXPECT_LT(PrintToString(Eigen::Map<Eigen::MatrixXf>(m.data(), 200, 200)).size(), 100u);
  EXPECT_LT(PrintToString(Eigen::Ref<Eigen::MatrixXf>(m)).size(), 100u);
  EXPECT_LT(PrintToString(m.block(0, 0, 100, 100)).size(), 100u);
  EXPECT_LT(PrintToString(m.transpose()).size(), 100u);
  EXPECT_LT(PrintToString(m + m).size(), 100u);
}

}  // namespace
}  // namespace assay
