// Renders what identify found: text and JSON.
#pragma once

#include <string>
#include <vector>

#include "assay/identify/identify.h"

namespace assay::report {

std::string identification_text(const std::vector<identify::Finding>& findings);

// Schema 1, documented in docs/identify.md.
std::string identification_json(const std::vector<identify::Finding>& findings,
                                const std::string& file);

}  // namespace assay::report
