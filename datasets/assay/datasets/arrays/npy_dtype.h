// The dtypes of .npy files, in every spelling that numpy.dtype() accepts.
#pragma once

#include <string>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/python_literal.h"
#include "assay/format/format.h"

namespace assay::inline v0_2 {

// The kinds and widths of a 'descr' in numpy.lib.format. Other dtypes are bytes of their width (V).
inline constexpr DtypeNames kNpyDtypes =
    "f8=float64 f4=float32 f2=float16 i1=int8 u1=uint8 i2=int16 i4=int32 i8=int64 u2=uint16 "
    "u4=uint32 u8=uint64 c16=complex128 c8=complex64 b1=bool";

struct NpyType {
  // Is nullptr if the elements are bit patterns of `width` bytes whose format the file does not
  // say.
  const Format* format;
  int width;
  bool swap;  // true if the elements in the file are big-endian
};

// Returns the dtype of a 'descr'. Throws FileError if the elements are not numbers that assay has.
// The error names the file and the elements' type, and says how to save them.
NpyType npy_type(const std::string& path, const Literal& descr);

}  // namespace assay
