// A baseline as the file that is kept beside the code.
#pragma once

#include <string>

#include "assay/gate/baseline.h"

namespace assay::inline v0_2::wire {

// Returns JSON of schema 2, documented in docs/json.md. Each case has one line, in natural order,
// so that a diff shows the changed cases.
std::string baseline_json(const Baseline& baseline);
// Throws Refusal that names the place and what is wrong there, and std::runtime_error
// if the file cannot be read.
Baseline read_baseline(const std::string& path);

}  // namespace assay::wire
