// Reads back what gate_json and verdict_json have written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/regate.h"

namespace assay::config {

// The comparisons of a result file of schema 1, in its order. Throws std::invalid_argument that
// names the case and what is wrong where the text is no such file.
std::vector<SavedResult> read_results(std::string_view text);

}  // namespace assay::config
