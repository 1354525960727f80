// Reads files of ONNX's TensorProto, in which its backend tests keep inputs and outputs
// (input_0.pb).
#pragma once

#include <memory>
#include <string>

#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2 {

std::unique_ptr<ArrayFile> open_onnx(const std::string& path);

}  // namespace assay
