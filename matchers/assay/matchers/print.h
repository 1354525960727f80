// Printing of tensors by GoogleTest: by shape and dtype, never as a whole.
#pragma once

#include <iosfwd>

#include "assay/device/device_memory.h"

namespace assay::inline v0_2 {

// Prints "bfloat16 [64, 512]" and the values of the first eight elements.
void PrintTo(const TensorView& view, std::ostream* os);
void PrintTo(const Tensor& tensor, std::ostream* os);
// Prints "bfloat16 [64, 512] on cuda:0", without reading the device's memory.
void PrintTo(const DeviceView& view, std::ostream* os);

}  // namespace assay
