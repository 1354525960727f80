// Findings of identify as JSON.
#pragma once

#include <string>
#include <vector>

#include "assay/identify/identify.h"

namespace assay::inline v0_2::wire {

// Returns JSON of schema 2, documented in docs/identify.md.
std::string identification_json(const std::vector<identify::Finding>& findings,
                                const std::string& file);

}  // namespace assay::wire
