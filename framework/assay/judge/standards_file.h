// Standards as JSON: the user's own from a file, and rows of the table in the format of such a
// file. The schema is in docs/judging.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/standards.h"

namespace assay::inline v0_2 {

// Reads standards from JSON. Throws Refusal that names `source`, the standard and the key if the
// text is not JSON, a key is unknown ("did you mean"), a value has another type or range, a dtype
// is unknown, or a name is already taken.
std::vector<CustomStandard> parse_standards(const std::string& json, const std::string& source);
// Reads standards from a file. Throws std::runtime_error, which names the file, if it cannot be
// read.
std::vector<CustomStandard> read_standards(const std::string& path);

// Finds a standard that is not in the table: one of `custom` by its name, or one of a file, as in
// "own.json:strict". Returns nullptr if the name is of neither kind. A file is read once. Throws as
// read_standards() does, and Refusal, which lists the file's standards, if the file has no standard
// of that name. May be called by several threads.
const CustomStandard* find_custom_standard(std::string_view name,
                                           std::span<const CustomStandard> custom);
// True if the name is that of a standard in a file.
bool is_in_file(std::string_view standard);

// Returns standards as the JSON of a file of standards, with the publication of each.
std::string standards_json(std::span<const Standard> standards);

}  // namespace assay
