// Raw bytes. The file's name, a file beside it, or the caller says what they are.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/plain_array.h"

namespace assay::inline v0_2 {

struct SaidByName {
  const Format* format = nullptr;
  std::optional<Shape> shape;
  std::string wrong_shape = {};  // The text after `__shape_` if it is not a shape.
  bool is_absent = false;        // "input_2_none.bin" stands for an absent optional input
};

// Returns what the name of a file, or of an array in a file, says about its elements:
// - `golden_0_bfloat16__shape_2x8x128.bin`, `__shape_scalar` for rank 0 (the Ascend test kit);
// - `x.3x4xf32.bin`, `x_3x4xbf16.bin`, with MLIR's names of types (IREE);
// - `x_float16.bin`: only the dtype, as the last word.
// Folders and the ending are ignored. Words without a digit say nothing, except `bool`.
SaidByName said_by_name(const std::string& path);

// Returns the format of elements that a file stores as `stored`. Three kinds of stored elements can
// be patterns of another format: bytes without a meaning (`stored` is nullptr), unsigned integers
// of at most two bytes, and int8 elements that may be int4. For these, returns the requested format
// of that width, or the one that the name says. Otherwise returns `stored`, which may be nullptr.
const Format* said_format(const Format* stored, int width, const ArrayRequest& request);
// Returns a message that nothing says what patterns of `width` bytes are, with the dtypes that are
// possible.
std::string unsaid_patterns(int width, const ArrayRequest& request);

// Turns a layout of floats into one of complex elements, if the floats are the parts of complex
// numbers. The request may say so. For float16 the file's name may say it as well, because neither
// NumPy nor older PyTorch has complex32. If the last dimension is 2, it holds the real and the
// imaginary part and is removed. Otherwise it holds pairs, and becomes half as long. Throws
// FileError if the request asks for pairs and the last dimension is not even, or if the parts of an
// element do not lie one after the other.
void pair_parts(ArrayLayout& layout, const ArrayRequest& request);

// Returns the path of the file that describes a file of raw bytes: "x.bin.json" for "x.bin".
// Returns an empty string for other kinds of files.
std::string file_beside(const std::string& path);

std::unique_ptr<ArrayFile> open_raw(const std::string& path);
void write_raw(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
