// Views of Eigen matrices, arrays, maps and vectors; Eigen::half and Eigen::bfloat16 too. assay
// needs no Eigen: the target that includes this header links Eigen3::Eigen itself. GoogleTests
// include assay/matchers/eigen.h, which includes this header.
//
//   Eigen::MatrixXf c = a * b;
//   TensorView v = view(c);   // shape [rows, cols], whatever the storage order
#pragma once

#include <Eigen/Core>
#include <concepts>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

ASSAY_FORMAT_OF(Eigen::half, "float16")
ASSAY_FORMAT_OF(Eigen::bfloat16, "bfloat16")

// Finds the class that Eigen uses for a matrix: T, or the class from which T inherits.
template <typename Derived>
Derived eigen_class(const Eigen::DenseBase<Derived>*);
// The class that eigen_class() finds for T.
template <typename T>
using EigenClass = decltype(eigen_class(static_cast<const T*>(nullptr)));

// The view of any Eigen object that lies in memory. An expression must be evaluated first
// (`.eval()`). A vector has rank 1, and a matrix rank 2.
template <typename T>
requires(Element<typename EigenClass<T>::Scalar> &&
         (int(EigenClass<T>::Flags) & Eigen::DirectAccessBit) != 0) struct ViewOf<T> {
  // Matrices and arrays own their elements; maps, blocks and references do not.
  static constexpr bool kOwns = std::derived_from<T, Eigen::PlainObjectBase<T>>;
  static TensorView of(const EigenClass<T>& m) {
    const Format& format = FormatOf<typename EigenClass<T>::Scalar>::get();
    const std::int64_t inner = m.innerStride(), outer = m.outerStride();
    if constexpr (EigenClass<T>::IsVectorAtCompileTime) {
      return view_bytes(m.data(), format, {m.size()}, {inner});
    } else {
      Strides strides = EigenClass<T>::IsRowMajor ? Strides{outer, inner} : Strides{inner, outer};
      return view_bytes(m.data(), format, {m.rows(), m.cols()}, std::move(strides));
    }
  }
};

}  // namespace assay
