// The JSON in files of arrays: headers of safetensors, and the files beside raw bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::wire {

struct ArrayHeader {
  std::string name = {}, dtype = {};  // `dtype` is the file's own word, or "" if the file has none
  std::optional<Shape> shape = {};
  // The array's first byte in the file, and the end of its bytes. Set only for safetensors.
  std::int64_t begin = 0, end = 0;
};

// Reads {"name": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]}, ...}. A key
// "__metadata__" (strings) is allowed and left out. Returns the arrays in the order of their bytes.
// Throws Refusal that names the array and what is wrong, such as a name that occurs
// twice.
std::vector<ArrayHeader> read_safetensors_header(const std::string& text);
std::string safetensors_header(const std::vector<ArrayHeader>& arrays);

// Reads {"dtype": "bfloat16", "shape": [2, 3]}. The dtype or the shape may be missing.
ArrayHeader read_raw_header(const std::string& text);
std::string raw_header(const std::string& dtype, const Shape& shape);

}  // namespace assay::wire
