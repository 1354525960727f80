// Numbers in the JSON that reports write.
#pragma once

#include <nlohmann/json.hpp>

namespace assay::report {

using Json = nlohmann::ordered_json;

// JSON has neither NaN nor infinity: they are the strings "nan", "inf" and "-inf".
Json number(double value);

}  // namespace assay::report
