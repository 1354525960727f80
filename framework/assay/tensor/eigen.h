// Views of Eigen matrices, arrays, maps and vectors; Eigen::half and Eigen::bfloat16 too. The only
// header that includes Eigen.
//
//   Eigen::MatrixXf c = a * b;
//   TensorView v = view(c);   // shape [rows, cols], whatever the storage order
#pragma once

#include <Eigen/Core>

#include "assay/tensor/tensor.h"

namespace assay {

ASSAY_FORMAT_OF(Eigen::half, "float16")
ASSAY_FORMAT_OF(Eigen::bfloat16, "bfloat16")

// Anything in Eigen that lies in memory; an expression must be evaluated first (`.eval()`). A
// vector has rank 1, a matrix rank 2.
template <typename Derived>
requires(Element<typename Derived::Scalar> &&
         (int(Derived::Flags) & Eigen::DirectAccessBit) != 0) TensorView
    view(const Eigen::DenseBase<Derived>& matrix) {
  const Derived& m = matrix.derived();
  const std::int64_t inner = m.innerStride(), outer = m.outerStride();
  if constexpr (Derived::IsVectorAtCompileTime) {
    return view_bytes(m.data(), FormatOf<typename Derived::Scalar>::get(), {m.size()}, {inner});
  } else {
    Strides strides = Derived::IsRowMajor ? Strides{outer, inner} : Strides{inner, outer};
    return view_bytes(m.data(), FormatOf<typename Derived::Scalar>::get(), {m.rows(), m.cols()},
                      std::move(strides));
  }
}

}  // namespace assay
