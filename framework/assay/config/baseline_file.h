// Reads back what report/baseline.h writes.
#pragma once

#include <string>

#include "assay/gate/baseline.h"

namespace assay::config {

// Throws std::invalid_argument that names the place and what is wrong there; std::runtime_error
// where the file cannot be read.
Baseline read_baseline(const std::string& path);

}  // namespace assay::config
