// The folder of an Ascend sample: gen_data.py writes input/*.bin and output/golden.bin, and the
// program writes output/output.bin. A layout of open_cases.h.
#pragma once

#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

bool is_sample_folder(const std::string& path);
OpenedCases open_sample_folder(const std::string& path, const OpenOptions& options);

}  // namespace assay
