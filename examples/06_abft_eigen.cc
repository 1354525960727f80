// AbftClose on Eigen matrices: checks the output of your kernel against its operands.
#include <assay/matchers.h>
#include <assay/matchers/eigen.h>
#include <gtest/gtest.h>

#include <Eigen/Core>

using assay::AbftClose;
using Half = Eigen::Matrix<Eigen::half, Eigen::Dynamic, Eigen::Dynamic>;

TEST(AbftEigen, HalfProduct) {
  const Half a = Eigen::MatrixXf::Random(48, 96).cast<Eigen::half>();
  const Half b = Eigen::MatrixXf::Random(96, 80).cast<Eigen::half>();
  // The kernel's output: accumulated in float32 and rounded once at the end.
  Half c = (a.cast<float>() * b.cast<float>()).cast<Eigen::half>();

  EXPECT_THAT(c, AbftClose(a, b));
  // columns() also checks columns, so that a faulty element lies where the flagged row and column
  // cross.
  EXPECT_THAT(c, AbftClose(a, b).columns());

  c(7, 3) = -c(7, 3);
  EXPECT_THAT(c, testing::Not(AbftClose(a, b)));
}
