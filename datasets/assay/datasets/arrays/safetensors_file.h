// .safetensors: a header in JSON, and the arrays' bytes one after another.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_file.h"

namespace assay {

std::unique_ptr<ArrayFile> open_safetensors(const std::string& path);
void write_safetensors(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
