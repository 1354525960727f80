// Raw bytes: what they are stands in the file's name, in a file beside it, or with the caller.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "assay/datasets/array_file.h"

namespace assay {

struct SaidByName {
  const Format* format = nullptr;
  std::optional<Shape> shape;
  bool is_absent = false;  // "input_2_none.bin": an optional input that is not there
};

// What the name of a file, or of an array in one, says of its elements:
// - `golden_0_bfloat16__shape_2x8x128.bin`, `__shape_scalar` for rank 0 (the Ascend test kit);
// - `x.3x4xf32.bin`, `x_3x4xbf16.bin`, with MLIR's names of types (IREE);
// - `x_float16.bin`: the dtype alone, as the last word.
// Folders and the ending do not count. Nothing is said by words without a digit, but for `bool`.
SaidByName said_by_name(const std::string& path);

// "2x8x128", "scalar"; nothing where the text is no shape.
std::optional<Shape> read_extents(std::string_view text, char separator);

std::unique_ptr<ArrayFile> open_raw(const std::string& path);
void write_raw(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
