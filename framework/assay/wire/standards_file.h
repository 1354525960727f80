// Standards as JSON: the user's own from a file, and rows of the table in the format of such a
// file. The schema is in docs/judging.md.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/judge/standards.h"

namespace assay::wire {

// Reads standards from JSON. Throws Refusal that names `source`, the standard and the key if the
// text is not JSON, a key is unknown ("did you mean"), a value has another type or range, a dtype
// is unknown, or a name is already taken.
std::vector<CustomStandard> parse_standards(const std::string& json, const std::string& source);
// Reads standards from a file. Throws std::runtime_error, which names the file, if it cannot be
// read.
std::vector<CustomStandard> read_standards(const std::string& path);

// Returns standards as the JSON of a file of standards, with the publication of each.
std::string standards_json(std::span<const Standard> standards);

}  // namespace assay::wire
