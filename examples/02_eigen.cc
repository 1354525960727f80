// Eigen matrices, including 16-bit ones, are compared directly. The storage order does not matter.
#include <assay/matchers.h>
#include <assay/matchers/eigen.h>
#include <gtest/gtest.h>

#include <Eigen/Core>

using assay::CloseTo;
using testing::AllOf;
using testing::Not;

TEST(EigenProduct, RoundsOnceToHalf) {
  const Eigen::MatrixXd a = Eigen::MatrixXd::Random(16, 32), b = Eigen::MatrixXd::Random(32, 8);
  const Eigen::MatrixXd golden = a * b;
  const Eigen::Matrix<Eigen::half, Eigen::Dynamic, Eigen::Dynamic> out = golden.cast<Eigen::half>();

  EXPECT_THAT(out, CloseTo(golden));
  EXPECT_THAT(out, AllOf(CloseTo(golden).standard("ulp(0)"), Not(assay::BitEqual(-golden))));
}
