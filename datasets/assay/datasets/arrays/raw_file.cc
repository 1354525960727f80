#include "assay/datasets/arrays/raw_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/array_writer.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/tensor/read_shape.h"
#include "assay/wire/array_header.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kShapeMark = "__shape_";
constexpr const char* kBeside = ".json";

// Returns the dtype that the last words of a name form, with as many words as possible.
const Format* dtype_at_end(std::string_view stem) {
  for (std::size_t at = 0; at < stem.size(); ++at) {
    const bool is_start = at == 0 || std::string_view("_.-").find(stem[at - 1]) != stem.npos;
    const std::string_view word = stem.substr(at);
    const bool speaks =
        word == "bool" || word.find_first_of("0123456789") != std::string_view::npos;
    if (!is_start || !speaks) continue;
    if (const Format* f = find_format(word)) return f;
  }
  return nullptr;
}

constexpr DtypeNames kMlirTypes =
    "f64=float64 f32=float32 f16=float16 bf16=bfloat16 tf32=tfloat32 f8E4M3FN=float8_e4m3fn "
    "f8E5M2=float8_e5m2 f8E4M3FNUZ=float8_e4m3fnuz f8E5M2FNUZ=float8_e5m2fnuz "
    "f8E8M0FNU=float8_e8m0fnu f4E2M1FN=float4_e2m1fn i8=int8 si8=int8 ui8=uint8 i16=int16 "
    "si16=int16 i32=int32 si32=int32 i64=int64 si64=int64 ui16=uint16 ui32=uint32 ui64=uint64 "
    "i4=int4 si4=int4 ui4=uint4 i1=bool";

// Sets dtype and shape from a word such as "3x4xf32" in the name, as IREE writes it. Returns false
// if there is no such word.
bool read_mlir_type(const std::string& name, SaidByName& said) {
  std::size_t begin = 0;
  while (begin < name.size()) {
    const std::size_t end = std::min(name.find_first_of("_.-", begin), name.size());
    const std::string_view word = std::string_view(name).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t last = word.rfind('x');
    if (last == std::string_view::npos) continue;
    const auto shape = read_shape(word.substr(0, last), 'x');
    const Format* f = find_dtype(kMlirTypes, word.substr(last + 1));
    if (!shape || shape->empty() || f == nullptr) continue;
    said.shape = shape;
    said.format = f;
    return true;
  }
  return false;
}

class RawFile : public ArrayFile {
 public:
  explicit RawFile(const std::string& path) : path_(path), bytes_(open_plain(path)) {}

  std::unique_ptr<ArraySource> open(const std::string&,
                                    const ArrayRequest& request) const override {
    SaidByName said = said_by_name(path_);
    if (said.is_absent && request.dtype.empty()) {
      throw FileError(path_, "",
                      "is an absent tensor, as its name says (none): it has no elements");
    }
    if (!said.wrong_shape.empty()) {
      throw file_error(path_, "",
                       "its name says the shape '{}', which must be extents joined by x, or scalar",
                       said.wrong_shape);
    }
    add_sidecar(said);
    const Format* f = said.format;
    if (f == nullptr && !request.dtype.empty()) f = &format_named(request.dtype);
    if (f == nullptr) {
      throw file_error(
          path_, "",
          "is read as raw bytes, and nothing says what they are: give --dtype, name it as in "
          "x_bfloat16.bin, or write {}.json with {{\"dtype\": \"bfloat16\", \"shape\": [2, 3]}}",
          std::filesystem::path(path_).filename().string());
    }
    if (!said.shape) said.shape = request.shape;
    const std::int64_t size = bytes_->size();
    ArrayLayout layout{.format = f, .place = bytes_->place()};
    if (said.shape) {
      layout.shape = *said.shape;
      layout.packed = is_packed(*f, layout.shape);
      const double needed = bytes_needed(path_, *f, layout.shape, layout.packed);
      if (needed != static_cast<double>(size)) {
        throw file_error(path_, "", "has {} bytes; {} of shape {} needs {:.0f}", size, f->name,
                         shape_text(layout.shape), needed);
      }
    } else {
      if (size % f->storage_bytes != 0) {
        throw file_error(path_, "",
                         "has {} bytes, which are no whole elements of {} ({} bytes each)", size,
                         f->name, f->storage_bytes);
      }
      layout.shape = {size / f->storage_bytes};
      layout.shape_is_inferred = true;
    }
    return plain_array(request.path, bytes_, std::move(layout));
  }

 private:
  // Returns true if each byte holds two elements of 4 bits, and not one. The file's size tells
  // which.
  bool is_packed(const Format& f, const Shape& shape) const {
    const auto size = static_cast<double>(bytes_->size());
    return f.bits == 4 && bytes_needed(path_, f, shape) != size &&
           bytes_needed(path_, f, shape, true) == size;
  }

  void add_sidecar(SaidByName& said) const {
    const std::string beside = path_ + kBeside;
    std::error_code error;
    if (!std::filesystem::exists(beside, error)) return;
    constexpr std::int64_t kMost = std::int64_t{1} << 20;
    const std::unique_ptr<ByteSource> bytes = open_plain(beside);
    const wire::ArrayHeader header =
        in_file(beside, [&] { return wire::read_raw_header(text_of(*bytes, kMost, beside, "")); });
    const Format* const f = in_file(
        beside, [&] { return header.dtype.empty() ? nullptr : &format_named(header.dtype); });
    if (f != nullptr && said.format != nullptr && f != said.format) {
      throw file_error(beside, "", "says {}, the name of {} {}", f->name, path_, said.format->name);
    }
    if (header.shape && said.shape && header.shape != said.shape) {
      throw file_error(beside, "", "says the shape {}, the name of {} {}",
                       shape_text(*header.shape), path_, shape_text(*said.shape));
    }
    if (f != nullptr) said.format = f;
    if (header.shape) said.shape = header.shape;
  }

  std::string path_;
  std::shared_ptr<ByteSource> bytes_;
};

}  // namespace

SaidByName said_by_name(const std::string& path) {
  SaidByName said;
  std::string stem = std::filesystem::path(path).stem().string();
  const std::size_t mark = stem.rfind(kShapeMark);
  if (mark != std::string::npos) {
    const std::string extents = stem.substr(mark + kShapeMark.size());
    said.shape = read_shape(extents, 'x');
    if (!said.shape) said.wrong_shape = extents;
    stem.resize(mark);
  } else if (read_mlir_type(std::filesystem::path(path).filename().string(), said)) {
    return said;
  }
  said.is_absent = stem.ends_with("_none");
  said.format = dtype_at_end(stem);
  return said;
}

const Format* said_format(const Format* stored, int width, const ArrayRequest& request) {
  const Format* said =
      request.dtype.empty() ? said_by_name(request.path).format : &format_named(request.dtype);
  if (said == nullptr || said->storage_bytes != width) return stored;
  const bool is_pattern =
      stored == nullptr || (stored->kind == Kind::kUnsigned && width <= 2) ||
      (stored->kind == Kind::kSigned && said->kind == Kind::kSigned && said->bits == 4);
  return is_pattern ? said : stored;
}

std::string unsaid_patterns(int width, const ArrayRequest& request) {
  std::vector<std::string> names;
  for (const Format& f : formats()) {
    if (f.storage_bytes == width) names.emplace_back(f.name);
  }
  const std::string patterns = formatted("holds {}-byte patterns", width);
  return request.dtype.empty()
             ? formatted("{}; give their dtype with --dtype ({})", patterns, joined(names))
             : formatted("{}, which cannot be {}; choose one of {}", patterns,
                         format_named(request.dtype).name, joined(names));
}

void pair_parts(ArrayLayout& layout, const ArrayRequest& request) {
  const bool asked = !request.dtype.empty();
  const Format* said = asked ? &format_named(request.dtype) : said_by_name(request.path).format;
  if (said == nullptr || !said->is_complex() || &part_format(*said) != layout.format) return;
  const bool pairs = !layout.shape.empty() && layout.shape.back() % 2 == 0;
  if (!asked && !(pairs && said->name == "complex32")) return;
  const auto refuse = [&](std::string_view why) {
    throw file_error(request.path, "", "holds {} of shape {}, which are no pairs of {}: {}",
                     layout.format->name, shape_text(layout.shape), said->name, why);
  };
  if (!pairs) refuse("the last extent must be even");
  Strides& strides = layout.strides;
  bool adjacent = !layout.column_major && (strides.empty() || strides.back() == 1);
  for (std::size_t d = 0; d + 1 < strides.size(); ++d) adjacent = adjacent && strides[d] % 2 == 0;
  if (!adjacent) refuse("the parts of an element must lie one after the other");
  for (std::size_t d = 0; d + 1 < strides.size(); ++d) strides[d] /= 2;
  layout.format = said;
  if (layout.shape.back() == 2) {
    layout.shape.pop_back();
    if (!strides.empty()) strides.pop_back();
  } else {
    layout.shape.back() /= 2;
  }
}

std::string file_beside(const std::string& path) {
  return array_format_of(path).open == open_raw ? path + kBeside : "";
}

std::unique_ptr<ArrayFile> open_raw(const std::string& path) {
  return std::make_unique<RawFile>(path);
}

void write_raw(const std::string& path, const std::map<std::string, TensorView>& arrays) {
  const TensorView& view = arrays.begin()->second;
  const SaidByName said = said_by_name(path);
  if ((said.format != nullptr && said.format != view.format) ||
      (said.shape && *said.shape != view.shape)) {
    throw file_error(path, "", "its name says another dtype or shape than {} of {}",
                     view.format->name, shape_text(view.shape));
  }
  if (said.format == nullptr || !said.shape) {
    write_file(path + kBeside, wire::raw_header(std::string(view.format->name), view.shape));
  }
  write_file(path, bytes_of(view));
}

std::string shape_word(const Shape& shape) {
  return shape.empty() ? "scalar" : assay::formatted("{}", fmt::join(shape, "x"));
}

std::string raw_file_name(std::string_view stem, const Format& format, const Shape& shape) {
  return assay::formatted("{}_{}{}{}.bin", stem, format.name, kShapeMark, shape_word(shape));
}

}  // namespace assay
