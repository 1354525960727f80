// How GoogleTest prints tensors and Eigen matrices: by shape and dtype, never as a whole.
#pragma once

#include <ostream>
#include <type_traits>

#include "assay/tensor/eigen.h"

namespace assay {

// "bfloat16 [64, 512]", with the values of up to eight elements.
void PrintTo(const TensorView& view, std::ostream* os);
inline void PrintTo(const Tensor& tensor, std::ostream* os) { PrintTo(tensor.view(), os); }

}  // namespace assay

namespace Eigen {

// Matrices, arrays, maps, references, blocks and expressions alike.
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
