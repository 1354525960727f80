// The dtypes of .npy files, in every spelling that numpy.dtype() takes.
#pragma once

#include <string>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/python_literal.h"
#include "assay/format/format.h"

namespace assay {

// numpy.lib.format: the kind and the width of a 'descr'. Other dtypes are bytes of their width (V).
inline constexpr DtypeNames kNpyDtypes =
    "f8=float64 f4=float32 f2=float16 i1=int8 u1=uint8 i2=int16 i4=int32 i8=int64 u2=uint16 "
    "u4=uint32 u8=uint64 c16=complex128 c8=complex64 b1=bool";

struct NpyType {
  const Format* format;  // nullptr: bit patterns of `width` bytes; something else says their format
  int width;
  bool swap;  // the elements lie big-endian
};

// The dtype that a 'descr' means. Throws FileError, which names the file, says what its elements
// are and how to save them otherwise, if they are not numbers that assay has.
NpyType npy_type(const std::string& path, const Literal& descr);

}  // namespace assay
