// Standards as JSON: the user's own from a file, and rows of the table as such a file has them. The
// schema is in docs/judging.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/judge/standards.h"

namespace assay::wire {

// Throws std::invalid_argument that names `source`, the standard and the key: what is no JSON, an
// unknown key ("did you mean"), a value of another type or range, an unknown dtype, a name that is
// taken.
std::vector<CustomStandard> parse_standards(const std::string& json, const std::string& source);
// Reads a file. Throws std::runtime_error, which names it, if it cannot be read.
std::vector<CustomStandard> read_standards(const std::string& path);

// Writes standards as such a file has them, with the publication of each.
std::string standards_json(std::span<const Standard> standards);

}  // namespace assay::wire
