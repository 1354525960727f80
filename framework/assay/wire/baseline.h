// A baseline as the file that is kept beside the code.
#pragma once

#include <string>

#include "assay/gate/baseline.h"

namespace assay::wire {

// JSON, schema 2, documented in docs/json.md: one line for each case, in natural order, so that a
// change shows what changed.
std::string baseline_json(const Baseline& baseline);
// Throws std::invalid_argument that names the place and what is wrong there; std::runtime_error
// where the file cannot be read.
Baseline read_baseline(const std::string& path);

}  // namespace assay::wire
