// The JSON of the readers and writers of this room.
#pragma once

#include <string>

#include "assay/base/json.h"

namespace assay::inline v0_2::wire {

using namespace json;  // NOLINT: every file of this room reads or writes JSON

// The schema of four kinds of files: results of a gate or a comparison, parts of them, and
// baselines.
inline constexpr int kResultSchema = 2;
// Explains why a text with this value of "schema" is not read. Empty if the value is kResultSchema.
std::string why_not_read(const Json& schema);

}  // namespace assay::wire
