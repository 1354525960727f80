#include "assay/datasets/arrays/array_file.h"

#include <algorithm>
#include <new>
#include <utility>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/arrays/npy_file.h"
#include "assay/datasets/arrays/onnx_file.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/arrays/safetensors_file.h"
#include "assay/datasets/arrays/torch_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"

namespace assay::inline v0_2 {
namespace {

class Hdf5Array : public ArraySource {
 public:
  Hdf5Array(const std::string& path, const std::string& object, const std::string& dtype)
      : file_(path), reader_(path, file_.hdf5(), std::int64_t{1} << 40) {
    if (h5::FileCheck* const check = file_.check()) check->look_at_dataset(object, dtype);
    pieces_ = reader_.open_any(object, dtype);
  }
  const Format& format() const override { return pieces_->format(); }
  const Shape& shape() const override { return pieces_->shape(); }
  StoredPlace place() const override { return pieces_->place(); }
  void read(std::int64_t begin, std::int64_t count, std::byte* to) override {
    pieces_->read(begin, count, to);
  }

 private:
  h5::OpenedFile file_;
  h5::Reader reader_;
  std::unique_ptr<ArraySource> pieces_;
};

// Datasets are opened by their paths and are not listed, because such a file is usually read for
// its cases.
class Hdf5File : public ArrayFile {
 public:
  explicit Hdf5File(std::string path) : path_(std::move(path)) {}
  std::vector<std::string> names() const override {
    throw FileError(path_, "", "name the dataset in it, as in file.h5:/cases/x/golden");
  }
  std::unique_ptr<ArraySource> open(const std::string& name,
                                    const ArrayRequest& request) const override {
    return std::make_unique<Hdf5Array>(path_, name, request.dtype);
  }

 private:
  std::string path_;
};

std::unique_ptr<ArrayFile> open_hdf5(const std::string& path) {
  return std::make_unique<Hdf5File>(path);
}

constexpr std::string_view kWrittenByNumpy =
    "those of NumPy; complex32 as float16 with another last dimension of 2, all others as bytes of "
    "their width (`V1`, `V2`, `V4`), to be read again with their dtype";

const std::vector<ArrayFormat>& rows() {
  static const std::vector<ArrayFormat> table = {
      {.name = "npy",
       .endings = {".npy"},
       .example = "x.npy",
       .open = open_npy,
       .write = write_npy,
       .reads = "dtype and shape, in every spelling that NumPy takes; bfloat16 and narrow floats "
                "are bytes (`V2`, `V1`, ml_dtypes' `f1`) whose dtype must be said",
       .written = kWrittenByNumpy},
      {.name = "npz",
       .endings = {".npz"},
       .example = "x.npz:/name",
       .is_archive = true,
       .open = open_npz,
       .write = write_npz,
       .unnamed = "arr_0",  // numpy.savez gives the first array without a name this name
       .reads = "the same, each array by its name",
       .written = kWrittenByNumpy},
      {.name = "pt",
       .endings = {".pt", ".pth"},
       .example = "x.pt:/model/w",
       .is_archive = true,
       .open = open_torch,
       .write = write_torch,
       .dtypes = kTorchDtypes,
       .reads = "everything; dicts, lists and tuples are walked, and the keys that lead to a "
                "tensor are its name"},
      {.name = "safetensors",
       .endings = {".safetensors"},
       .example = "x.safetensors:/name",
       .is_archive = true,
       .open = open_safetensors,
       .write = write_safetensors,
       .dtypes = kSafetensorsDtypes,
       .unnamed = "array",
       .reads = "everything; elements of 4 bits lie two in a byte"},
      {.name = "onnx",
       .endings = {".pb"},
       .example = "input_0.pb",
       .open = open_onnx,
       .reads = "everything; an ONNX TensorProto, as ONNX's backend tests keep them; sequences, "
                "optionals, maps and models are refused"},
      {.name = "hdf5",
       .endings = {".h5", ".hdf5"},
       .example = "x.h5:/path/to/dataset",
       .is_archive = true,
       .is_dataset = true,
       .open = open_hdf5,
       .reads = "everything (docs/dataset.md); the file may have any ending if a path follows"},
      // A file whose ending is in no row is read by the last row, as raw bytes.
      {.name = "bin",
       .endings = {".bin", ".raw", ".dat"},
       .example = "x.bin",
       .open = open_raw,
       .write = write_raw,
       .reads = "nothing: raw bytes, row-major and little-endian; the name, a file beside it or "
                "the command line says dtype and shape",
       .written = "all; a name that does not say dtype and shape gets a `.bin.json` beside it"},
  };
  return table;
}

// The position at which the file's own name ends in a path, and the kind of the file.
struct ParsedName {
  const ArrayFormat* row;
  std::size_t end;
};

// Returns every way to split "FILE:NAME", in the order of their positions: after an archive's
// ending, and before ":/", because an HDF5 file may have any ending.
std::vector<ParsedName> splits_of(const std::string& path) {
  std::vector<ParsedName> splits;
  for (std::size_t colon = path.find(':'); colon != std::string::npos;
       colon = path.find(':', colon + 1)) {
    const ArrayFormat& row = array_format_of(path.substr(0, colon));
    if (row.is_archive && !row.is_dataset) {
      splits.push_back({&row, colon});
    } else if (colon > 0 && path.compare(colon, 2, ":/") == 0) {
      splits.push_back({&array_format_named("hdf5"), colon});
    }
  }
  return splits;
}

// Names of files and of arrays may contain a ':', so existing files decide. The whole path is tried
// first, then the shortest split at which a file exists. If no file exists, a split after an
// archive's ending is preferred.
ParsedName parse_name(const std::string& path) {
  const std::vector<ParsedName> splits = splits_of(path);
  const ParsedName whole{&array_format_of(path), path.size()};
  if (splits.empty() || is_file(path)) return whole;
  for (const ParsedName& split : splits) {
    if (is_file(path.substr(0, split.end))) return split;
  }
  const auto is_archive = [](const ParsedName& split) { return !split.row->is_dataset; };
  const auto archive = std::find_if(splits.rbegin(), splits.rend(), is_archive);
  if (archive != splits.rend()) return *archive;
  return whole.row->is_archive && !whole.row->is_dataset ? whole : splits.back();
}

// Returns the names of arrays as a text, at most 10 of them.
std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMost = 10;
  if (names.size() <= kMost) return joined(names);
  names.resize(kMost);
  return joined(names) + ", ...";
}

// Returns the name of the requested array in the file. `asked` is the name that the user gave. It
// may be empty, or have an array file's ending.
std::string choose(const std::string& file, const std::vector<std::string>& names,
                   std::string asked) {
  if (names.empty()) throw FileError(file, "", "holds no arrays");
  if (asked.empty()) {
    if (names.size() == 1) return names.front();
    throw file_error(file, "", "holds {} arrays ({}): name one, as in {}:/{}", names.size(),
                     listed(names), file, names.front());
  }
  std::ptrdiff_t found = std::ranges::count(names, asked);
  if (found == 0 && asked.ends_with(".npy")) {
    asked.resize(asked.size() - 4);
    found = std::ranges::count(names, asked);
  }
  if (found > 1) {
    throw FileError(file, asked, "stands twice in the file: which is meant cannot be told");
  }
  if (found == 0) {
    const bool unnamed = names.size() == 1 && names.front().empty();
    throw FileError(file, asked,
                    unnamed ? "does not exist; the file holds one array without a name"
                            : formatted("does not exist; the file holds {}", listed(names)));
  }
  return asked;
}

}  // namespace

std::span<const ArrayFormat> array_formats() { return rows(); }

const ArrayFormat& array_format_named(std::string_view name) {
  return row_named("kind of array file", rows(), name);
}

const ArrayFormat& array_format_of(const std::string& path) {
  for (const ArrayFormat& row : rows()) {
    for (const std::string_view ending : row.endings) {
      if (path.ends_with(ending)) return row;
    }
  }
  return rows().back();
}

std::string array_file(const std::string& path) { return path.substr(0, parse_name(path).end); }

std::string array_name(const std::string& path) {
  std::string name = path.substr(std::min(parse_name(path).end + 1, path.size()));
  if (name.starts_with("/")) name.erase(0, 1);
  return name;
}

std::unique_ptr<ArrayFile> open_array_file(const std::string& file) {
  return array_format_of(file).open(file);
}

void check_array_name(const std::string& file, const std::string& name) {
  const bool has_control = std::ranges::any_of(name, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
  if (!has_control && is_utf8(name)) return;
  throw FileError(file, name, "an array's name must be UTF-8 without control characters");
}

std::vector<std::string> arrays_in(const std::string& file) {
  std::vector<std::string> names = open_array_file(file)->names();
  for (const std::string& name : names) check_array_name(file, name);
  return names;
}

std::unique_ptr<ArraySource> open_array(const ArrayRequest& request) {
  const ParsedName parsed = parse_name(request.path);
  const std::string file = request.path.substr(0, parsed.end);
  const std::string asked = array_name(request.path);
  if (parsed.row->is_dataset && parsed.end < request.path.size()) {
    return Hdf5File(file).open("/" + asked, request);
  }
  const std::unique_ptr<ArrayFile> opened = parsed.row->open(file);
  const std::vector<std::string> names = opened->names();
  for (const std::string& name : names) check_array_name(file, name);
  return opened->open(choose(file, names, asked), request);
}

Tensor read_array(ArraySource& source) {
  Tensor tensor(source.format(), source.shape());
  source.read(0, tensor.size(), tensor.bytes());
  return tensor;
}

Tensor read_array(const ArrayRequest& request) {
  const std::unique_ptr<ArraySource> source = open_array(request);
  try {
    return read_array(*source);
  } catch (const std::bad_alloc&) {
    throw FileError(request.path, "", "needs more memory than there is");
  }
}

}  // namespace assay
