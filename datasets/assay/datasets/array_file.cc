#include "assay/datasets/array_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>

#include "assay/base/text.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/store.h"

namespace assay {
namespace {

struct CloseFile {
  void operator()(std::FILE* f) const { std::fclose(f); }
};
using FilePointer = std::unique_ptr<std::FILE, CloseFile>;

FilePointer open_plain(const std::string& path, std::int64_t& size) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw FileError(path, "", format("cannot be opened: {}", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) throw FileError(path, "", "is not a regular file");
  FilePointer file(std::fopen(path.c_str(), "rb"));
  if (!file) throw FileError(path, "", format("cannot be opened: {}", std::strerror(errno)));
  size = status.st_size;
  return file;
}

// Reads exactly the tensor's bytes from where the file stands.
void read_bytes(const std::string& path, std::FILE* file, Tensor& tensor) {
  if (std::fread(tensor.bytes(), 1, tensor.byte_count(), file) != tensor.byte_count()) {
    throw FileError(path, "", "is truncated: it ends before the array does");
  }
}

// What follows a key of the header, a Python dict literal as numpy writes it.
std::string header_value(const std::string& path, const std::string& header, const char* key) {
  const std::size_t at = header.find(format("'{}':", key));
  if (at == std::string::npos)
    throw FileError(path, "", format("its .npy header has no '{}'", key));
  std::size_t begin = header.find(':', at) + 1;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  const char close = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const std::size_t end = header.find(close, begin + 1);
  if (end == std::string::npos) throw FileError(path, "", "its .npy header is damaged");
  return header.substr(begin, end - begin + (close == ',' ? 0 : 1));
}

struct NpyType {
  std::string dtype;  // "" for raw bytes (|V2 and its kind)
  int width;
  bool swap;
};

NpyType npy_type(const std::string& path, const std::string& descr) {
  // "'<f4'": byte order, kind, width.
  if (descr.size() < 5 || descr.front() != '\'') {
    throw FileError(path, "", format("holds records ({}); one plain array is needed", descr));
  }
  const char order = descr[1], kind = descr[2];
  const std::string width_text = descr.substr(3, descr.size() - 4);
  int width = 0;
  std::from_chars(width_text.data(), width_text.data() + width_text.size(), width);
  std::string name;
  if (kind == 'f')
    name = format("float{}", width * 8);
  else if (kind == 'i')
    name = format("int{}", width * 8);
  else if (kind == 'u')
    name = format("uint{}", width * 8);
  else if (kind == 'b')
    name = "bool";
  else if (kind != 'V')
    width = 0;
  const bool known = kind == 'V' ? width == 1 || width == 2
                                 : find_format(name) != nullptr || (kind == 'u' && width == 2);
  if (width == 0 || !known) {
    throw FileError(path, "",
                    format("holds elements of type {}, which assay does not read", descr));
  }
  return {kind == 'V' || name == "uint16" ? "" : name, width, order == '>' && width > 1};
}

Tensor read_npy(const ArrayRequest& request) {
  const std::string& path = request.path;
  std::int64_t size = 0;
  const FilePointer file = open_plain(path, size);
  unsigned char magic[8];
  if (std::fread(magic, 1, 8, file.get()) != 8 || std::memcmp(magic, "\x93NUMPY", 6) != 0) {
    throw FileError(path, "", "is not an .npy file");
  }
  unsigned char length_bytes[4] = {};
  const std::size_t length_size = magic[6] == 1 ? 2 : 4;
  if (std::fread(length_bytes, 1, length_size, file.get()) != length_size) {
    throw FileError(path, "", "is truncated in its header");
  }
  const std::size_t length = length_bytes[0] | (std::size_t{length_bytes[1]} << 8u) |
                             (std::size_t{length_bytes[2]} << 16u) |
                             (std::size_t{length_bytes[3]} << 24u);
  if (static_cast<std::int64_t>(length) > size) throw FileError(path, "", "its header is damaged");
  std::string header(length, ' ');
  if (std::fread(header.data(), 1, length, file.get()) != length) {
    throw FileError(path, "", "is truncated in its header");
  }
  const NpyType type = npy_type(path, header_value(path, header, "descr"));
  const bool fortran = header_value(path, header, "fortran_order").starts_with("True");
  Shape shape;
  for (const std::string& part : split(header_value(path, header, "shape"), ',')) {
    const std::size_t digit = part.find_first_of("0123456789");
    if (digit == std::string::npos) continue;
    std::int64_t extent = 0;
    std::from_chars(part.data() + digit, part.data() + part.size(), extent);
    shape.push_back(extent);
  }
  std::string dtype = type.dtype;
  if (!request.dtype.empty()) {
    const Format& asked = format_named(request.dtype);
    const bool patterns = type.dtype.empty() || type.dtype == "uint8";
    if (patterns && asked.storage_bytes == type.width) dtype = asked.name;
  }
  if (dtype.empty()) {
    throw FileError(path, "",
                    format("holds {}-byte patterns; say with --dtype what they are "
                           "(bfloat16, float8_e4m3fn, ...)",
                           type.width));
  }
  const Format& f = format_named(dtype);
  const double bytes = static_cast<double>(element_count(shape)) * f.storage_bytes;
  if (bytes > static_cast<double>(size)) {
    throw FileError(path, "", "is truncated: it ends before the array does");
  }
  Shape stored = shape;
  if (fortran) std::reverse(stored.begin(), stored.end());
  Tensor tensor(f, stored);
  read_bytes(path, file.get(), tensor);
  if (type.swap) {
    std::byte* at = tensor.bytes();
    for (std::int64_t i = 0; i < tensor.size(); ++i, at += type.width)
      std::reverse(at, at + type.width);
  }
  if (!fortran || shape.size() < 2) return tensor;
  TensorView view = tensor.view();
  std::reverse(view.shape.begin(), view.shape.end());
  std::reverse(view.strides.begin(), view.strides.end());
  return copy_of(view);
}

Tensor read_hdf5_array(const std::string& path, const std::string& object,
                       const std::string& dtype) {
  const h5::Handle file = h5::open_file(path);
  return h5::Reader(path, file.get(), std::int64_t{1} << 40).read_any(object, dtype);
}

Tensor read_raw(const ArrayRequest& request) {
  std::int64_t size = 0;
  const FilePointer file = open_plain(request.path, size);
  if (request.dtype.empty() || !request.shape) {
    throw FileError(request.path, "",
                    "is read as raw bytes (it is no .npy, nor file.h5:/path): give --dtype and "
                    "--shape");
  }
  const Format& f = format_named(request.dtype);
  const std::int64_t needed = element_count(*request.shape) * f.storage_bytes;
  if (needed != size) {
    throw FileError(request.path, "",
                    format("has {} bytes; {} of shape {} needs {}", size, f.name,
                           shape_text(*request.shape), needed));
  }
  Tensor tensor(f, *request.shape);
  read_bytes(request.path, file.get(), tensor);
  return tensor;
}

}  // namespace

Tensor read_array(const ArrayRequest& request) {
  // "file.h5:/path": the last ':' followed by '/', and not the whole path.
  const std::size_t colon = request.path.rfind(":/");
  if (colon != std::string::npos && colon > 0) {
    return read_hdf5_array(request.path.substr(0, colon), request.path.substr(colon + 1),
                           request.dtype);
  }
  if (request.path.ends_with(".npy")) return read_npy(request);
  if (request.path.ends_with(".h5") || request.path.ends_with(".hdf5")) {
    throw FileError(request.path, "", "name the dataset in it, as in file.h5:/cases/x/golden");
  }
  return read_raw(request);
}

}  // namespace assay
