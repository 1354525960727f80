#include "assay/datasets/array_file.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/datasets/byte_source.h"
#include "assay/datasets/reader.h"
#include "assay/datasets/store.h"
#include "assay/datasets/types.h"
#include "assay/datasets/zip_member.h"

namespace assay {
namespace {

// Elements that lie one after another from `offset` on.
struct Layout {
  const Format* format;
  Shape shape;
  std::int64_t offset;
  bool swap = false, column_major = false;
  StoredPlace place = {};
};

class PlainArray : public ArraySource {
 public:
  PlainArray(std::string path, std::unique_ptr<ByteSource> bytes, Layout layout)
      : path_(std::move(path)),
        bytes_(std::move(bytes)),
        layout_(std::move(layout)),
        width_(layout_.format->storage_bytes) {}
  const Format& format() const override { return *layout_.format; }
  const Shape& shape() const override { return layout_.shape; }
  StoredPlace place() const override { return layout_.place; }

  void read(std::int64_t begin, std::int64_t count, std::byte* to) override {
    if (count == 0) return;
    if (layout_.column_major && layout_.shape.size() > 1) {
      read_column_major(begin, count, to);
    } else {
      bytes_->read(layout_.offset + begin * width_, count * width_, to);
    }
    for (std::int64_t i = 0; layout_.swap && i < count; ++i) {
      std::reverse(to + i * width_, to + (i + 1) * width_);
    }
    const TensorView piece = view_bytes(to, *layout_.format, {count});
    const std::string invalid = h5::invalid_element(piece, layout_.shape, begin);
    if (!invalid.empty()) throw FileError(path_, "", invalid);
  }

 private:
  // A part of the first row, whole rows, and a part of the last one.
  void read_column_major(std::int64_t begin, std::int64_t count, std::byte* to) {
    const std::int64_t row = element_count(layout_.shape) / layout_.shape.front();
    while (count > 0) {
      const std::int64_t column = begin % row;
      const bool part = column != 0 || count < row;
      const std::int64_t columns = part ? std::min(count, row - column) : row;
      const std::int64_t rows = part ? 1 : count / row;
      read_block(begin / row, rows, column, columns, to);
      begin += rows * columns;
      count -= rows * columns;
      to += rows * columns * width_;
    }
  }

  // Rows of the first dimension, and elements of each row-major row. In the file the rows of one
  // element lie beside each other.
  void read_block(std::int64_t first_row, std::int64_t rows, std::int64_t column,
                  std::int64_t columns, std::byte* to) {
    const std::size_t rank = layout_.shape.size();
    std::vector<std::byte> run(static_cast<std::size_t>(rows * width_));
    for (std::int64_t c = 0; c < columns; ++c) {
      std::int64_t rest = column + c, at = 0;
      std::vector<std::int64_t> index(rank, 0);
      for (std::size_t d = rank; d-- > 1;) {
        index[d] = rest % layout_.shape[d];
        rest /= layout_.shape[d];
      }
      for (std::size_t d = rank; d-- > 0;) at = at * layout_.shape[d] + index[d];
      bytes_->read(layout_.offset + (at + first_row) * width_, rows * width_, run.data());
      for (std::int64_t r = 0; r < rows; ++r) {
        std::memcpy(to + (r * columns + c) * width_, run.data() + r * width_,
                    static_cast<std::size_t>(width_));
      }
    }
  }

  std::string path_;
  std::unique_ptr<ByteSource> bytes_;
  Layout layout_;
  std::int64_t width_;
};

// That of an array within a file, or of the one array of an archive's member.
StoredPlace place_within(const ByteSource& bytes, std::int64_t offset, std::int64_t size) {
  StoredPlace place = bytes.place();
  if (place.begin < 0) return place;
  place.begin += offset;
  place.size = size;
  return place;
}

// ----------------------------------------------------------------------------------------- .npy

// What follows a key of the header, a Python dict literal as numpy writes it.
std::string header_value(const std::string& path, const std::string& header, const char* key) {
  const std::size_t at = header.find(format("'{}':", key));
  if (at == std::string::npos)
    throw FileError(path, "", format("its .npy header has no '{}'", key));
  std::size_t begin = header.find(':', at) + 1;
  while (begin < header.size() && header[begin] == ' ') ++begin;
  if (begin >= header.size()) throw FileError(path, "", "its .npy header is damaged");
  const char close = header[begin] == '(' ? ')' : header[begin] == '\'' ? '\'' : ',';
  const std::size_t end = header.find(close, begin + 1);
  if (end == std::string::npos) throw FileError(path, "", "its .npy header is damaged");
  return header.substr(begin, end - begin + (close == ',' ? 0 : 1));
}

// numpy's headers take some hundred bytes; a hostile length would fill the memory.
constexpr std::int64_t kMaxHeader = std::int64_t{1} << 20;

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
  if (width < 0 || width > 16) width = 0;
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

Shape npy_shape(const std::string& path, const std::string& text) {
  Shape shape;
  for (const std::string& part : split(text, ',')) {
    const std::size_t digit = part.find_first_of("0123456789");
    if (digit == std::string::npos) continue;
    std::int64_t extent = 0;
    const auto [end, error] =
        std::from_chars(part.data() + digit, part.data() + part.size(), extent);
    if (error != std::errc()) throw FileError(path, "", "its .npy header is damaged");
    shape.push_back(extent);
  }
  return shape;
}

// `path` names the array in messages, `bytes` are the .npy file.
std::unique_ptr<ArraySource> open_npy(const ArrayRequest& request,
                                      std::unique_ptr<ByteSource> bytes, bool in_order) {
  const std::string& path = request.path;
  const std::int64_t size = bytes->size();
  std::byte start[12] = {};
  bytes->read(0, std::min<std::int64_t>(size, 12), start);
  if (size < 8 || std::memcmp(start, "\x93NUMPY", 6) != 0) {
    throw FileError(path, "", "is not an .npy file");
  }
  const std::int64_t length_size = std::to_integer<int>(start[6]) == 1 ? 2 : 4;
  std::int64_t length = 0;
  for (std::int64_t i = 0; i < length_size; ++i) {
    length |= std::to_integer<std::int64_t>(start[8 + i]) << 8 * i;
  }
  const std::int64_t offset = 8 + length_size + length;
  if (size < 8 + length_size || offset > size) {
    throw FileError(path, "", "is truncated in its header");
  }
  if (length > kMaxHeader) {
    throw FileError(
        path, "",
        format("has an .npy header of {} bytes, over the {} that are read", length, kMaxHeader));
  }
  // From the beginning, so that checksums of what is read in order stay whole.
  std::string header(static_cast<std::size_t>(offset), ' ');
  bytes->read(0, offset, reinterpret_cast<std::byte*>(header.data()));
  header.erase(0, static_cast<std::size_t>(8 + length_size));
  const NpyType type = npy_type(path, header_value(path, header, "descr"));
  const bool column_major = header_value(path, header, "fortran_order").starts_with("True");
  const Shape shape = npy_shape(path, header_value(path, header, "shape"));
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
  const double array_bytes = static_cast<double>(element_count(shape)) * f.storage_bytes;
  if (array_bytes > static_cast<double>(size - offset)) {
    throw FileError(path, "", "is truncated: it ends before the array does");
  }
  if (array_bytes < static_cast<double>(size - offset)) {
    throw FileError(path, "",
                    in_order ? std::string("has more bytes than its array: the archive is corrupt")
                             : format("has {} bytes behind its array: two files in one, or one "
                                      "written over a longer one",
                                      size - offset - static_cast<std::int64_t>(array_bytes)));
  }
  const StoredPlace place = place_within(*bytes, offset, static_cast<std::int64_t>(array_bytes));
  if (in_order && column_major && shape.size() > 1) bytes = spooled(path, *bytes);
  return std::make_unique<PlainArray>(path, std::move(bytes),
                                      Layout{&f, shape, offset, type.swap, column_major, place});
}

// ------------------------------------------------------------------------------ HDF5, raw bytes

class Hdf5Array : public ArraySource {
 public:
  Hdf5Array(const std::string& path, const std::string& object, const std::string& dtype)
      : file_(h5::open_file(path)),
        reader_(path, file_.get(), std::int64_t{1} << 40),
        pieces_(reader_.open_any(object, dtype)) {}
  const Format& format() const override { return pieces_->format(); }
  const Shape& shape() const override { return pieces_->shape(); }
  StoredPlace place() const override { return pieces_->place(); }
  void read(std::int64_t begin, std::int64_t count, std::byte* to) override {
    pieces_->read(begin, count, to);
  }

 private:
  h5::Handle file_;
  h5::Reader reader_;
  std::unique_ptr<ArraySource> pieces_;
};

std::unique_ptr<ArraySource> open_raw(const ArrayRequest& request) {
  std::unique_ptr<ByteSource> bytes = open_plain(request.path);
  if (request.dtype.empty() || !request.shape) {
    throw FileError(request.path, "",
                    "is read as raw bytes (it is no .npy, .npz, nor file.h5:/path): give --dtype "
                    "and --shape");
  }
  const Format& f = format_named(request.dtype);
  const double needed =
      static_cast<double>(element_count(*request.shape)) * static_cast<double>(f.storage_bytes);
  if (needed != static_cast<double>(bytes->size())) {
    throw FileError(request.path, "",
                    format("has {} bytes; {} of shape {} needs {:.0f}", bytes->size(), f.name,
                           shape_text(*request.shape), needed));
  }
  const StoredPlace place = bytes->place();
  return std::make_unique<PlainArray>(request.path, std::move(bytes),
                                      Layout{&f, *request.shape, 0, false, false, place});
}

// Where the file's own name ends. "x.npz", "x.npz:/name", "x.npz:name"; and "file.h5:/path": the
// last ':' followed by '/', and not the whole path.
struct ArrayName {
  enum class Kind : std::uint8_t { kFile, kArchive, kHdf5 } kind = Kind::kFile;
  std::size_t end;
};
ArrayName parse_name(const std::string& path) {
  const std::size_t archive = path.rfind(".npz:");
  if (archive != std::string::npos) return {ArrayName::Kind::kArchive, archive + 4};
  if (path.ends_with(".npz")) return {ArrayName::Kind::kArchive, path.size()};
  const std::size_t colon = path.rfind(":/");
  if (colon != std::string::npos && colon > 0) return {ArrayName::Kind::kHdf5, colon};
  return {ArrayName::Kind::kFile, path.size()};
}

}  // namespace

std::string array_file(const std::string& path) { return path.substr(0, parse_name(path).end); }

std::unique_ptr<ArraySource> open_array(const ArrayRequest& request) {
  const std::string& path = request.path;
  const ArrayName parsed = parse_name(path);
  const std::string file = path.substr(0, parsed.end);
  std::string name = path.substr(std::min(parsed.end + 1, path.size()));
  if (parsed.kind == ArrayName::Kind::kArchive) {
    if (name.starts_with("/")) name.erase(0, 1);
    return open_npy(request, open_zip_member(file, name), true);
  }
  if (parsed.kind == ArrayName::Kind::kHdf5) {
    return std::make_unique<Hdf5Array>(file, name, request.dtype);
  }
  if (path.ends_with(".npy")) return open_npy(request, open_plain(path), false);
  if (path.ends_with(".h5") || path.ends_with(".hdf5")) {
    throw FileError(path, "", "name the dataset in it, as in file.h5:/cases/x/golden");
  }
  return open_raw(request);
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
