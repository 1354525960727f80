// Renders the findings of identify as text.
#pragma once

#include <string>
#include <vector>

#include "assay/identify/identify.h"

namespace assay::inline v0_2::report {

std::string identification_text(const std::vector<identify::Finding>& findings);

}  // namespace assay::report
