// Raw bytes: what they are stands in the file's name, in a file beside it, or with the caller.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/arrays/plain_array.h"

namespace assay {

struct SaidByName {
  const Format* format = nullptr;
  std::optional<Shape> shape;
  std::string wrong_shape = {};  // what stands behind `__shape_` where that is none
  bool is_absent = false;        // "input_2_none.bin": an optional input that is not there
};

// What the name of a file, or of an array in one, says of its elements:
// - `golden_0_bfloat16__shape_2x8x128.bin`, `__shape_scalar` for rank 0 (the Ascend test kit);
// - `x.3x4xf32.bin`, `x_3x4xbf16.bin`, with MLIR's names of types (IREE);
// - `x_float16.bin`: the dtype alone, as the last word.
// Folders and the ending do not count. Nothing is said by words without a digit, but for `bool`.
SaidByName said_by_name(const std::string& path);

// The format of elements that a file stores as `stored`: of bytes without a meaning (nullptr), of
// unsigned integers of that width, at most two bytes, and of int8 that may be int4, what is asked
// for, else what the name says; nullptr where nothing says it.
const Format* said_format(const Format* stored, int width, const ArrayRequest& request);
// Says that nothing says what patterns of `width` bytes are, and which dtypes they may be.
std::string unsaid_patterns(int width, const ArrayRequest& request);

// Makes complex elements of a layout of floats where these are said to be the parts of some: by the
// request, or, of float16, which neither NumPy nor older PyTorch pairs, by the file's name. The
// last dimension goes where it is 2, the real part first; else it is of pairs and becomes half as
// long. Throws FileError where the request says it of what is no pairs, or of parts that lie apart.
void pair_parts(ArrayLayout& layout, const ArrayRequest& request);

// Returns the path of the file that says what a file of raw bytes holds: "x.bin.json" for "x.bin".
// Returns an empty string for other kinds of files.
std::string file_beside(const std::string& path);

std::unique_ptr<ArrayFile> open_raw(const std::string& path);
void write_raw(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
