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

namespace assay::inline v0_2 {

struct ArrayRequest {
  // The file, such as "x.npy", or the file and the array's name: "file.h5:/path/to/dataset",
  // "x.npz:/name" ("x.npz:name" works, too), and likewise for .pt and .safetensors. The array's
  // name may be left out if the file holds only one array.
  std::string path = {};
  // The dtype of the elements, for files that do not say it: raw bytes, and bit patterns of 8 or 16
  // bits.
  std::string dtype = {};
  std::optional<Shape> shape = {};  // The shape of raw bytes, if nothing else says it.

  bool empty() const { return path.empty(); }
};

// An opened file. It is used by one thread at a time. Arrays that are opened from it may outlive
// it.
class ArrayFile {
 public:
  virtual ~ArrayFile() = default;
  // The names of the arrays in the file's order. "" is an array without a name, which is then the
  // file's only one, and which most kinds of files hold.
  virtual std::vector<std::string> names() const { return {""}; }
  // Opens one of names(). `request` has the caller's description of the array, and its path is used
  // in messages.
  virtual std::unique_ptr<ArraySource> open(const std::string& name,
                                            const ArrayRequest& request) const = 0;
};

// A kind of file.
struct ArrayFormat {
  std::string_view name;  // the kind's name in `assay unpack --as`
  // The file endings, with their dots. A written file gets the first one.
  std::vector<std::string_view> endings;
  std::string_view example;  // a path that names an array in such a file: "x.npz:/name"
  bool is_archive = false;   // an array's path has the array's name behind that of the file
  bool is_dataset = false;   // the file holds cases; its arrays are opened by paths and not listed
  std::unique_ptr<ArrayFile> (*open)(const std::string& path);
  // Null if this kind of file cannot be written (array_writer.h).
  void (*write)(const std::string& path, const std::map<std::string, TensorView>& arrays) = nullptr;
  // The dtypes that can be written. If this is empty, every dtype can be written (`written` says
  // how).
  DtypeNames dtypes = "";
  std::string_view unnamed = "";  // the name that is written for an array without a name
  // For documentation: the properties of arrays that such a file records.
  std::string_view reads;
  // For documentation: the dtypes that can be written, in words, if `dtypes` is empty.
  std::string_view written = "all";
};
std::span<const ArrayFormat> array_formats();
// Returns the row with this name. Throws Refusal, which lists the known names.
const ArrayFormat& array_format_named(std::string_view name);
// Returns the row for the ending of a file's name, or the row of raw bytes if no row has that
// ending.
const ArrayFormat& array_format_of(const std::string& path);

// Returns the file that holds an array: "file.h5" for "file.h5:/path".
std::string array_file(const std::string& path);
// Returns the array's name behind the file, without '/' and ':', or an empty string.
std::string array_name(const std::string& path);

// Throws FileError if the name is not valid for an array in a file. It must be UTF-8 without
// control characters.
void check_array_name(const std::string& file, const std::string& name);

// Opens a file by its row. Throws FileError, which names the file and the error.
std::unique_ptr<ArrayFile> open_array_file(const std::string& file);
// Returns the names() of a file, which are {""} if it has one array without a name.
std::vector<std::string> arrays_in(const std::string& file);

// Opens an array, to be read in pieces. Memory does not grow with the array's size, with three
// exceptions that are held whole: a chunk of an HDF5 dataset; a PyTorch tensor with other strides
// than those of rows or columns; ONNX numbers that are not raw bytes. The dtype of an HDF5 dataset
// is its `dtype` attribute, or the dataset's stored type if it has no such attribute. A
// column-major array in an archive is first unpacked to a temporary file. Throws FileError, which
// names the file and what is wrong, and Refusal if the dtype is unknown.
std::unique_ptr<ArraySource> open_array(const ArrayRequest& request);

// Reads all elements. Throws as open_array does.
Tensor read_array(ArraySource& source);
Tensor read_array(const ArrayRequest& request);

}  // namespace assay
