#include "assay/datasets/arrays/safetensors_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/arrays/raw_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/global_heap.h"
#include "assay/wire/array_header.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::int64_t kLength = 8;                // the header's length is a number of 8 bytes
constexpr std::int64_t kMostHeader = 100'000'000;  // safetensors' own reader has this limit, too

// Returns true if two elements of the format, which have 4 bits, share a byte.
bool is_packed(const Format& format) { return format.bits == 4; }

class SafetensorsFile : public ArrayFile {
 public:
  explicit SafetensorsFile(const std::string& path) : path_(path), bytes_(open_plain(path)) {
    const std::string header = header_text();
    arrays_ = in_file(path, [&] { return wire::read_safetensors_header(header); });
    check_places();
  }

  std::vector<std::string> names() const override { return names_of(arrays_); }

  std::unique_ptr<ArraySource> open(const std::string& name,
                                    const ArrayRequest& request) const override {
    const wire::ArrayHeader& array = arrays_.at(places_.at(name));
    const Format* f = find_dtype(kSafetensorsDtypes, array.dtype);
    if (f == nullptr) {
      throw FileError(path_, name, unread_elements(array.dtype));
    }
    const double needed = bytes_needed(path_, *f, *array.shape, is_packed(*f));
    if (needed != static_cast<double>(array.end - array.begin)) {
      throw file_error(path_, name, "has {} bytes; {} of shape {} needs {:.0f}",
                       array.end - array.begin, array.dtype, shape_text(*array.shape), needed);
    }
    const std::int64_t offset = data_ + array.begin;
    return plain_array(request.path, bytes_,
                       {.format = said_format(f, f->storage_bytes, request),
                        .shape = *array.shape,
                        .offset = offset,
                        .packed = is_packed(*f),
                        .place = place_within(*bytes_, offset, array.end - array.begin)});
  }

 private:
  std::string header_text() {
    const std::int64_t size = bytes_->size();
    std::byte start[kLength] = {};
    if (size < kLength) throw FileError(path_, "", "is truncated in its header");
    bytes_->read(0, kLength, start);
    const std::uint64_t length = h5::number_in(start, 0, kLength);
    if (length > static_cast<std::uint64_t>(size - kLength)) {
      throw file_error(path_, "",
                       "is truncated in its header, or no safetensors file: the header would have "
                       "{} bytes, the file has {}",
                       length, size);
    }
    if (length > kMostHeader) {
      throw file_error(path_, "", "has a header of {} bytes, but assay reads at most {}", length,
                       kMostHeader);
    }
    std::string text(static_cast<std::size_t>(length), ' ');
    bytes_->read(kLength, static_cast<std::int64_t>(length),
                 reinterpret_cast<std::byte*>(text.data()));
    data_ = kLength + static_cast<std::int64_t>(length);
    return text;
  }

  // The arrays must fill the file, one after another. Overlaps and gaps are refused, because their
  // meaning is ambiguous.
  void check_places() {
    std::int64_t at = 0;
    const std::int64_t size = bytes_->size() - data_;
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const wire::ArrayHeader& array = arrays_[i];
      places_.emplace(array.name, i);
      if (array.end > size) {
        throw file_error(path_, array.name, "is truncated: its bytes end at {}, the file's at {}",
                         array.end, size);
      }
      if (array.begin != at) {
        throw file_error(path_, array.name,
                         "its bytes begin at {}, but those of the array before end at {}",
                         array.begin, at);
      }
      at = array.end;
    }
    if (at != size) {
      throw file_error(path_, "", "has {} bytes behind its arrays", size - at);
    }
  }

  std::string path_;
  std::shared_ptr<ByteSource> bytes_;
  std::int64_t data_ = 0;  // the offset in the file at which the arrays' bytes begin
  std::vector<wire::ArrayHeader> arrays_;
  std::map<std::string, std::size_t> places_;
};

std::string packed(const std::string& codes) {
  std::string pairs((codes.size() + 1) / 2, '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const int code = codes[i] << (i % 2 * 4);
    pairs[i / 2] = static_cast<char>(pairs[i / 2] | code);
  }
  return pairs;
}

}  // namespace

std::unique_ptr<ArrayFile> open_safetensors(const std::string& path) {
  return std::make_unique<SafetensorsFile>(path);
}

void write_safetensors(const std::string& path, const std::map<std::string, TensorView>& arrays) {
  // The widest elements come first, so that each array begins at a multiple of its width.
  std::vector<std::pair<std::string, TensorView>> sorted(arrays.begin(), arrays.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return a.second.format->storage_bytes > b.second.format->storage_bytes;
  });
  std::vector<wire::ArrayHeader> headers;
  std::string data;
  for (const auto& [name, view] : sorted) {
    wire::ArrayHeader header;
    header.name = name;
    header.dtype = std::string(dtype_name(kSafetensorsDtypes, *view.format));
    header.shape = view.shape;
    header.begin = static_cast<std::int64_t>(data.size());
    data += is_packed(*view.format) ? packed(bytes_of(view)) : bytes_of(view);
    header.end = static_cast<std::int64_t>(data.size());
    headers.push_back(std::move(header));
  }
  std::string text = wire::safetensors_header(headers);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(text.size() >> 8 * i & 0xFF);
  write_file(path, out + text + data);
}

}  // namespace assay
