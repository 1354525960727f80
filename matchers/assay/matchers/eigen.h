// Eigen matrices for the matchers of assay/matchers.h. GoogleTest prints them by shape and dtype,
// never as a whole. The target links Eigen3::Eigen itself.
//
//   #include <assay/matchers.h>
//   #include <assay/matchers/eigen.h>
//
//   EXPECT_THAT(c, CloseTo(a * b));
#pragma once

#include <ostream>

#include "assay/matchers/print.h"
#include "assay/tensor/eigen.h"

namespace Eigen {

// Makes GoogleTest print Eigen matrices, arrays, maps, references, blocks and expressions by shape
// and dtype.
template <typename T>
requires(std::is_base_of_v<DenseBase<T>, T>&& assay::Element<typename T::Scalar>) void PrintTo(
    const T& m, std::ostream* os) {
  if constexpr (requires { assay::view(m); }) {
    assay::PrintTo(assay::view(m), os);
  } else {
    const auto evaluated = m.eval();
    assay::PrintTo(assay::view(evaluated), os);
  }
}

}  // namespace Eigen
