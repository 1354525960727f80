// How GoogleTest prints tensors: by shape and dtype, never as a whole.
#pragma once

#include <iosfwd>

#include "assay/tensor/tensor.h"

namespace assay {

// "bfloat16 [64, 512]", with the values of up to eight elements.
void PrintTo(const TensorView& view, std::ostream* os);
void PrintTo(const Tensor& tensor, std::ostream* os);

}  // namespace assay
