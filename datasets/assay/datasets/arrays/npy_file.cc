#include "assay/datasets/arrays/npy_file.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/byte_source.h"
#include "assay/datasets/arrays/npy_dtype.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/arrays/python_literal.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/arrays/zip_member.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/global_heap.h"

namespace assay::inline v0_2 {
namespace {

// The header of a .npy file. It is a dict literal with exactly the keys descr, fortran_order and
// shape.
struct NpyHeader {
  Literal descr;
  bool fortran_order = false;
  Shape shape;
};

NpyHeader npy_header(const std::string& path, const std::string& text, int version) {
  const auto bad = [&](const std::string& why) {
    throw FileError(path, "", "its .npy header " + why);
  };
  Literal header;
  try {
    // NumPy accepts extents such as 1L, which Python 2 wrote.
    header = parse_literal(text, version < 3 ? Python::k2 : Python::k3);
  } catch (const Refusal& e) {
    bad(formatted("is damaged: {}", e.what()));
  }
  if (header.dict() == nullptr) bad("is no dict");
  NpyHeader result;
  bool has[3] = {};
  for (const LiteralItem& item : *header.dict()) {
    const std::string key = item.key.text() != nullptr ? *item.key.text() : "";
    const std::size_t at = key == "descr" ? 0 : key == "fortran_order" ? 1 : 2;
    if (at == 2 && key != "shape") bad(formatted("has the key {}", literal_text(item.key)));
    if (std::exchange(has[at], true)) bad(formatted("has '{}' twice", key));
    if (at == 0) {
      result.descr = item.value;
    } else if (at == 1) {
      if (item.value.flag() == nullptr) bad("has a 'fortran_order' that is neither True nor False");
      result.fortran_order = *item.value.flag();
    } else {
      if (item.value.list() == nullptr) bad("has a 'shape' that is no tuple");
      for (const Literal& extent : *item.value.list()) {
        if (extent.integer() == nullptr || *extent.integer() < 0) {
          bad(formatted("has the extent {}", literal_text(extent)));
        }
        result.shape.push_back(*extent.integer());
      }
      if (result.shape.size() > 64) bad("has more than 64 extents");
    }
  }
  for (const auto& [key, found] : {std::pair("descr", has[0]), std::pair("fortran_order", has[1]),
                                   std::pair("shape", has[2])}) {
    if (!found) bad(formatted("has no '{}'", key));
  }
  return result;
}

// numpy's headers have some hundred bytes. The limit protects the memory from a hostile length.
constexpr std::int64_t kMaxHeader = std::int64_t{1} << 20;

// Opens the array of a .npy file, whose content is `bytes`.
std::unique_ptr<ArraySource> read_npy(const ArrayRequest& request,
                                      std::shared_ptr<ByteSource> bytes, bool in_order) {
  const std::string& path = request.path;
  const std::int64_t size = bytes->size();
  std::byte start[12] = {};
  bytes->read(0, std::min<std::int64_t>(size, 12), start);
  if (size < 8 || std::memcmp(start, "\x93NUMPY", 6) != 0) {
    throw FileError(path, "", "is not an .npy file");
  }
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3 || std::to_integer<int>(start[7]) != 0) {
    throw file_error(path, "", "is of version {}.{} of .npy; 1.0, 2.0 and 3.0 are read", version,
                     std::to_integer<int>(start[7]));
  }
  const std::size_t length_size = version == 1 ? 2 : 4;
  const auto length = static_cast<std::int64_t>(h5::number_in(start, 8, length_size));
  const std::int64_t begin = 8 + static_cast<std::int64_t>(length_size), offset = begin + length;
  if (size < begin || offset > size) {
    throw FileError(path, "", "is truncated in its header");
  }
  if (length > kMaxHeader) {
    throw file_error(path, "", "has an .npy header of {} bytes, but assay reads at most {}", length,
                     kMaxHeader);
  }
  // Reads from the beginning, so that checksums of data that are read in order remain complete.
  std::string header(static_cast<std::size_t>(offset), ' ');
  bytes->read(0, offset, reinterpret_cast<std::byte*>(header.data()));
  header.erase(0, 8 + length_size);
  const NpyHeader said = npy_header(path, header, version);
  const NpyType type = npy_type(path, said.descr);
  const bool column_major = said.fortran_order;
  const Shape& shape = said.shape;
  const Format* const known = said_format(type.format, type.width, request);
  if (known == nullptr) throw FileError(path, "", unsaid_patterns(type.width, request));
  const Format& f = *known;
  const double array_bytes = bytes_needed(path, f, shape);
  if (array_bytes > static_cast<double>(size - offset)) {
    throw FileError(path, "", "is truncated: it ends before the array does");
  }
  if (array_bytes < static_cast<double>(size - offset)) {
    throw FileError(path, "",
                    in_order ? std::string("has more bytes than its array: the archive is corrupt")
                             : formatted("has {} bytes after its array, as if it were two files in "
                                         "one, or written over a longer one; save the array again",
                                         size - offset - static_cast<std::int64_t>(array_bytes)));
  }
  const StoredPlace place = place_within(*bytes, offset, static_cast<std::int64_t>(array_bytes));
  if (in_order && column_major && shape.size() > 1) bytes = spooled(path, *bytes);
  ArrayLayout layout{.format = &f,
                     .shape = shape,
                     .offset = offset,
                     .swap = type.swap,
                     .column_major = column_major && shape.size() > 1,
                     .place = place};
  pair_parts(layout, request);
  return plain_array(path, std::move(bytes), std::move(layout));
}

class NpyFile : public ArrayFile {
 public:
  explicit NpyFile(const std::string& path) : bytes_(open_plain(path)) {}
  std::unique_ptr<ArraySource> open(const std::string&,
                                    const ArrayRequest& request) const override {
    return read_npy(request, bytes_, false);
  }

 private:
  std::shared_ptr<ByteSource> bytes_;
};

// The members' names are those of their arrays, without the ending `.npy`.
class NpzFile : public ArrayFile {
 public:
  explicit NpzFile(const std::string& path) : archive_(path) {
    for (const std::string& member : archive_.names()) {
      names_.push_back(member.ends_with(".npy") ? member.substr(0, member.size() - 4) : member);
      members_.emplace(names_.back(), names_.size() - 1);
    }
  }
  std::vector<std::string> names() const override { return names_; }
  std::unique_ptr<ArraySource> open(const std::string& name,
                                    const ArrayRequest& request) const override {
    return read_npy(request, archive_.open(members_.at(name)), true);
  }

 private:
  ZipArchive archive_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t> members_;
};

std::string npy_bytes(const TensorView& complex_view) {
  // NumPy has no complex32. It is written as float16 with an additional last dimension of 2
  // (pair_parts).
  const bool paired =
      complex_view.format->is_complex() && dtype_name(kNpyDtypes, *complex_view.format).empty();
  const TensorView view = paired ? parts_of(complex_view) : complex_view;
  const std::string_view known = dtype_name(kNpyDtypes, *view.format);
  const int width = view.format->storage_bytes;
  const std::string descr =
      known.empty() ? formatted("|V{}", width) : formatted("{}{}", width == 1 ? '|' : '<', known);
  std::string shape = "(";
  for (const std::int64_t extent : view.shape) shape += formatted("{}, ", extent);
  if (view.rank() > 1) shape.resize(shape.size() - 2);
  if (view.rank() == 1) shape.resize(shape.size() - 1);
  std::string header =
      formatted("{{'descr': '{}', 'fortran_order': False, 'shape': {}), }}", descr, shape);
  // As in NumPy, the data begin at a multiple of 64 bytes, after an end of line.
  constexpr std::size_t kStart = 10;
  header.resize((kStart + header.size() + 1 + 63) / 64 * 64 - kStart - 1, ' ');
  header += '\n';
  const auto size = static_cast<unsigned>(header.size());
  std::string out = "\x93NUMPY";
  for (const unsigned byte : {1U, 0U, size & 0xFFU, size >> 8}) out += static_cast<char>(byte);
  return out + header + bytes_of(view);
}

}  // namespace

std::unique_ptr<ArrayFile> open_npy(const std::string& path) {
  return std::make_unique<NpyFile>(path);
}

std::unique_ptr<ArrayFile> open_npz(const std::string& path) {
  return std::make_unique<NpzFile>(path);
}

void write_npy(const std::string& path, const std::map<std::string, TensorView>& arrays) {
  write_file(path, npy_bytes(arrays.begin()->second));
}

void write_npz(const std::string& path, const std::map<std::string, TensorView>& arrays) {
  std::vector<ZipEntry> entries;
  for (const auto& [name, view] : arrays) {
    entries.push_back({name + ".npy", npy_bytes(view)});
  }
  write_file(path, zipped(entries));
}

}  // namespace assay
