// What the dtypes are called in files of arrays: one table for all kinds of files.
#pragma once

#include <string>
#include <string_view>

#include "assay/format/format.h"

namespace assay {

// "": the kind of file has no name for it.
struct DtypeNames {
  std::string_view format;         // assay's name
  std::string_view npy;            // kind and width of NumPy's descr; "": bytes of its width (V)
  std::string_view torch;          // torch's dtype
  std::string_view torch_storage;  // the class of its storages; "": _rebuild_tensor_v3 says it
  std::string_view safetensors;
  std::string_view onnx;  // TensorProto.DataType, a number
  std::string_view mlir;  // element types in IREE's file names, parted by blanks
};

using DtypeColumn = std::string_view DtypeNames::*;

// The format that has this name in a column (or as one of several); nullptr where none has.
const Format* find_dtype(DtypeColumn column, std::string_view name);
// A format's name in a column; "" where it has none.
std::string_view dtype_name(DtypeColumn column, const Format& format);
// "float32, float16, ...": the formats that a column has names for.
std::string dtypes_of(DtypeColumn column);
// Says that elements of a dtype of others are not read, and what to do.
std::string unread_elements(std::string_view dtype);

}  // namespace assay
