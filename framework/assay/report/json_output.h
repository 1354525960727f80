// Numbers in the JSON that reports write.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay::report {

using Json = nlohmann::ordered_json;

// JSON has neither NaN nor infinity: they are the strings "nan", "inf" and "-inf".
Json number(double value);

// The text of a report, with a line end; -1: on one line. What is no UTF-8, as a file's name may
// be, is replaced; what cannot be printed is an escape.
std::string dumped(const Json& json, int indent);

}  // namespace assay::report
