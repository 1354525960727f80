// Printing of tensors by GoogleTest: by shape and dtype, never as a whole.
#pragma once

#include <iosfwd>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// Prints "bfloat16 [64, 512]" and the values of the first eight elements.
void PrintTo(const TensorView& view, std::ostream* os);
void PrintTo(const Tensor& tensor, std::ostream* os);

}  // namespace assay
