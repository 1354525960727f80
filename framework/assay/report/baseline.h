// A baseline as the file that is kept beside the code.
#pragma once

#include <string>

#include "assay/gate/baseline.h"

namespace assay::report {

// JSON, schema 1, documented in docs/json.md: a line a case, in natural order, so that a change
// shows what changed.
std::string baseline_json(const Baseline& baseline);

}  // namespace assay::report
