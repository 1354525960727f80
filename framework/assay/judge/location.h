// Where the misses of a verdict lie.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay {

// The pattern that sorted row-major positions form in a shape ("all in row 3", ...); "" for none.
std::string location_pattern(const std::vector<std::int64_t>& positions, const Shape& shape);

}  // namespace assay
