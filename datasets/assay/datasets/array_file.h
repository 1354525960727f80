// Single arrays from files: an object of any HDF5 file, .npy, a member of an .npz, or raw bytes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "assay/datasets/array_source.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct ArrayRequest {
  std::string path;            // "file.h5:/path/to/dataset", "x.npy", "x.npz:/name", or raw bytes
  std::string dtype;           // where the file does not say: raw bytes, 8- and 16-bit patterns
  std::optional<Shape> shape;  // of raw bytes
};

// The file in which such an array lies: "file.h5" of "file.h5:/path".
std::string array_file(const std::string& path);

// Opens it, to be read in pieces; nothing of its size is held in memory, but a chunk of an HDF5
// dataset. The dtype of an HDF5 dataset is its `dtype` attribute, else what its stored type is.
// A column-major array in an .npz is first unpacked to a temporary file. Throws FileError that
// names the file and what is wrong, std::invalid_argument on an unknown dtype.
std::unique_ptr<ArraySource> open_array(const ArrayRequest& request);

// All of it. Throws as open_array does.
Tensor read_array(ArraySource& source);
Tensor read_array(const ArrayRequest& request);

}  // namespace assay
