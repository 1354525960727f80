// Standards of the user's own, as a JSON file. The schema is in docs/judging.md.
#pragma once

#include <string>
#include <vector>

#include "assay/judge/bound.h"

namespace assay::config {

// Throws std::invalid_argument that names `source`, the standard and the key: what is no JSON, an
// unknown key ("did you mean"), a value of another type or range, an unknown dtype, a name that is
// taken.
std::vector<CustomStandard> parse_standards(const std::string& json, const std::string& source);
// Of a file. Throws std::runtime_error that names it where it cannot be read.
std::vector<CustomStandard> read_standards(const std::string& path);

}  // namespace assay::config
