// Single arrays from files: an object of any HDF5 file, .npy, or raw bytes.
#pragma once

#include <optional>
#include <string>

#include "assay/tensor/tensor.h"

namespace assay {

struct ArrayRequest {
  std::string path;            // "file.h5:/path/to/dataset", "x.npy", or raw bytes
  std::string dtype;           // where the file does not say: raw bytes, 8- and 16-bit patterns
  std::optional<Shape> shape;  // of raw bytes
};

// Reads it. The dtype of an HDF5 dataset is its `dtype` attribute, else what its stored type is.
// Throws FileError that names the file and what is wrong, std::invalid_argument on an unknown
// dtype.
Tensor read_array(const ArrayRequest& request);

}  // namespace assay
