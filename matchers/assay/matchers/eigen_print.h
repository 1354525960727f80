// How GoogleTest prints tensors and Eigen matrices: by shape and dtype, never as a whole.
#pragma once

#include <ostream>

#include "assay/tensor/eigen.h"

namespace assay {

// "bfloat16 [64, 512]", with the values of up to eight elements.
void PrintTo(const TensorView& view, std::ostream* os);
inline void PrintTo(const Tensor& tensor, std::ostream* os) { PrintTo(tensor.view(), os); }

}  // namespace assay

namespace Eigen {

template <typename S, int R, int C, int O, int MR, int MC>
requires assay::Element<S>
void PrintTo(const Matrix<S, R, C, O, MR, MC>& m, std::ostream* os) {
  assay::PrintTo(assay::view(m), os);
}
template <typename S, int R, int C, int O, int MR, int MC>
requires assay::Element<S>
void PrintTo(const Array<S, R, C, O, MR, MC>& m, std::ostream* os) {
  assay::PrintTo(assay::view(m), os);
}

}  // namespace Eigen
