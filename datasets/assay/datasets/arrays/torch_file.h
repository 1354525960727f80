// .pt files, as torch.save writes them: a zip archive of a pickle and the bytes of its storages.
// The pickle is read as data (pickle.h); nothing of it is executed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_file.h"

namespace assay {

// A tensor alone has no name; those of dicts, lists and tuples, also nested, have the keys and
// positions that lead to them, joined by '/'. What is no tensor is left out.
std::unique_ptr<ArrayFile> open_torch(const std::string& path);

// One array without a name as a tensor, others as a dict.
void write_torch(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
