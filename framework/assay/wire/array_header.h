// The JSON in files of arrays: headers of safetensors, and what stands beside raw bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay::wire {

struct ArrayHeader {
  std::string name, dtype;  // as the file has them; the dtype is "" if the file has none
  std::optional<Shape> shape;
  std::int64_t begin = 0, end = 0;  // in bytes, of safetensors
};

// Of {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ...} and, if present,
// "__metadata__" (strings, left out). By the order of their bytes. Throws std::invalid_argument
// that names the array and what is wrong, a name that stands twice included.
std::vector<ArrayHeader> read_safetensors_header(const std::string& text);
std::string safetensors_header(const std::vector<ArrayHeader>& arrays);

// {"dtype": "bfloat16", "shape": [2, 3]}; either may be missing.
ArrayHeader read_raw_header(const std::string& text);
std::string raw_header(const std::string& dtype, const Shape& shape);

}  // namespace assay::wire
