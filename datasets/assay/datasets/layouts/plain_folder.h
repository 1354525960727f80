// A plain folder of arrays: the same names on both sides, out/ against gold/. Layouts of
// open_cases.h.
#pragma once

#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

// Returns true for a folder with arrays in it, at any depth, and for one array file.
bool is_plain_folder(const std::string& path);
OpenedCases open_plain_folder(const std::string& path, const OpenOptions& options);

// Returns true for a folder that has a plain folder of arrays for each side, if the one of the
// golden results has one of the usual names.
bool is_two_sided_folder(const std::string& path);
OpenedCases open_two_sided_folder(const std::string& path, const OpenOptions& options);

}  // namespace assay
