// Arrays from files: of HDF5, NumPy, PyTorch, safetensors, ONNX, or raw bytes. A kind of file is a
// row of one table and a pair of files with its code (docs/how_to_add.md).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/store/array_source.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct ArrayRequest {
  // "x.npy", raw bytes, or the file with an array's name: "file.h5:/path/to/dataset", "x.npz:/name"
  // (so of .pt and .safetensors; "x.npz:name", too). Of one array the name may be left out.
  std::string path = {};
  std::string dtype = {};  // where the file does not say: raw bytes, 8- and 16-bit patterns
  std::optional<Shape> shape = {};  // of raw bytes that do not say it either

  bool empty() const { return path.empty(); }
};

// An opened file. It is used by one thread at a time; what is opened from it may outlive it.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  // In the file's order; "" is an array without a name, the file's only one.
  virtual std::vector<std::string> names() const = 0;
  // One of names(). `request` is what a caller says besides; its path is what messages name.
  virtual std::unique_ptr<ArraySource> open(const std::string& name,
                                            const ArrayRequest& request) const = 0;
};

// A kind of file.
struct ArrayFormat {
  std::string_view name;                  // as in `assay unpack --as`
  std::vector<std::string_view> endings;  // with their dots; written files get the first one
  std::string_view example;               // how one of its arrays is named: "x.npz:/name"
  bool is_archive = false;                // arrays are named behind the file
  bool is_dataset = false;  // cases lie in it, and its arrays are opened by paths and not listed
  std::unique_ptr<ArrayFile> (*open)(const std::string& path);
  // nullptr: not written (array_writer.h).
  void (*write)(const std::string& path, const std::map<std::string, TensorView>& arrays) = nullptr;
  DtypeNames dtypes = "";            // of files that are written; empty: any dtype, by its bytes
  std::string_view unnamed = "";     // the name that is written for an array without one
  std::string_view reads;            // what such a file says of its arrays, for documentation
  std::string_view written = "all";  // which dtypes are written if `dtypes` does not list them
};
std::span<const ArrayFormat> array_formats();
// The row of a name. Throws std::invalid_argument with the known names.
const ArrayFormat& array_format_named(std::string_view name);
// The row of a file by the ending of its name; raw bytes where no row has it.
const ArrayFormat& array_format_of(const std::string& path);

// The file in which an array lies: "file.h5" of "file.h5:/path".
std::string array_file(const std::string& path);
// What stands behind it, without '/' and ':'; "" where there is nothing.
std::string array_name(const std::string& path);

// Throws FileError if the name cannot be one of an array in a file: it must be UTF-8 without
// control characters.
void check_array_name(const std::string& file, const std::string& name);

// Opens a file by its row. Throws FileError that names the file and what is wrong.
std::unique_ptr<ArrayFile> open_array_file(const std::string& file);
// Its names(); {""} of a file with one array that has no name.
std::vector<std::string> arrays_in(const std::string& file);

// Opens an array, to be read in pieces; nothing of its size is held in memory, but a chunk of an
// HDF5 dataset, a tensor of PyTorch with other strides than those of rows or columns, and ONNX's
// numbers that are no raw bytes. The dtype of an HDF5 dataset is its `dtype` attribute, else what
// its stored type is. A column-major array in an archive is first unpacked to a temporary file.
// Throws FileError that names the file and what is wrong, std::invalid_argument on an unknown
// dtype.
std::unique_ptr<ArraySource> open_array(const ArrayRequest& request);

// All of it. Throws as open_array does.
Tensor read_array(ArraySource& source);
Tensor read_array(const ArrayRequest& request);

}  // namespace assay
