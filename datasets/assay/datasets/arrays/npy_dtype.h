// The dtypes of .npy files, in every spelling that numpy.dtype() takes.
#pragma once

#include <string>

#include "assay/datasets/arrays/python_literal.h"
#include "assay/format/format.h"

namespace assay {

struct NpyType {
  const Format* format;  // nullptr: bit patterns of `width` bytes; something else says their format
  int width;
  bool swap;  // the elements lie big-endian
};

// The dtype that a 'descr' means. Throws FileError, which names the file, says what its elements
// are and how to save them otherwise, if they are not numbers that assay has.
NpyType npy_type(const std::string& path, const Literal& descr);

}  // namespace assay
