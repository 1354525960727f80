// A plain folder of arrays: the same names on both sides, out/ against gold/. Layouts of
// open_cases.h.
#pragma once

#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay {

// A folder with arrays in it, at any depth, or one array file.
bool is_plain_folder(const std::string& path);
OpenedCases open_plain_folder(const std::string& path, const OpenOptions& options);

// The same with both sides in it, golden results in a folder that is called so.
bool is_two_sided_folder(const std::string& path);
OpenedCases open_two_sided_folder(const std::string& path, const OpenOptions& options);

}  // namespace assay
