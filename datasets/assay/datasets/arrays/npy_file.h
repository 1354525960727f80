// Reads and writes files in NumPy's formats .npy and .npz.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2 {

std::unique_ptr<ArrayFile> open_npy(const std::string& path);
std::unique_ptr<ArrayFile> open_npz(const std::string& path);

void write_npy(const std::string& path, const std::map<std::string, TensorView>& arrays);
void write_npz(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
