#include "assay/datasets/arrays/plain_array.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "assay/base/error.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/types.h"

namespace assay::inline v0_2 {
namespace {

Strides column_major_strides(const Shape& shape) {
  Strides strides;
  std::int64_t next = 1;
  for (const std::int64_t extent : shape) {
    strides.push_back(next);
    next *= extent;
  }
  return strides;
}

// Returns the position of the last element, in elements. The array must not be empty.
std::int64_t last_position(const ArrayLayout& layout) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < layout.shape.size(); ++d) {
    last += (layout.shape[d] - 1) * layout.strides[d];
  }
  return last;
}

class PlainArray : public ArraySource {
 public:
  PlainArray(std::string path, std::shared_ptr<ByteSource> bytes, ArrayLayout layout)
      : path_(std::move(path)),
        bytes_(std::move(bytes)),
        layout_(std::move(layout)),
        width_(layout_.format->storage_bytes) {
    Strides& strides = layout_.strides;
    if (strides.empty()) return;
    if (element_count(layout_.shape) == 0 || are_steps(contiguous_strides(layout_.shape))) {
      strides.clear();
    } else if (are_steps(column_major_strides(layout_.shape))) {
      strides.clear();
      layout_.column_major = true;
    }
  }
  const Format& format() const override { return *layout_.format; }
  const Shape& shape() const override { return layout_.shape; }
  // Returns false for an array with strides, because the first read keeps bytes that the later ones
  // use. Returns false for an array that is read by columns, because that needs few large reads.
  bool serves_threads() const override {
    return layout_.strides.empty() && !is_read_by_columns() && bytes_->serves_threads();
  }
  StoredPlace place() const override { return layout_.place; }
  bool shape_is_inferred() const override { return layout_.shape_is_inferred; }

  void read(std::int64_t begin, std::int64_t count, std::byte* to) override {
    if (count == 0) return;
    if (!layout_.strides.empty()) {
      read_strided(begin, count, to);
    } else if (is_read_by_columns()) {
      read_column_major(begin, count, to);
    } else if (layout_.packed) {
      read_packed(begin, count, to);
    } else {
      bytes_->read(layout_.offset + begin * width_, count * width_, to);
    }
    if (layout_.swap) h5::swap_bytes(*layout_.format, to, count);
    h5::to_codes(*layout_.format, to, count);
    const TensorView piece = view_bytes(to, *layout_.format, {count});
    const std::string invalid = h5::invalid_element(piece, layout_.shape, begin);
    if (!invalid.empty()) throw FileError(path_, "", invalid);
  }

 private:
  bool is_read_by_columns() const { return layout_.column_major && layout_.shape.size() > 1; }

  // Returns true if the strides equal `others`. The strides of dimensions with one element do not
  // matter.
  bool are_steps(const Strides& others) const {
    for (std::size_t d = 0; d < layout_.shape.size(); ++d) {
      if (layout_.shape[d] > 1 && layout_.strides[d] != others[d]) return false;
    }
    return true;
  }

  // Reads the bytes that the strides span once and keeps them in memory.
  void read_strided(std::int64_t begin, std::int64_t count, std::byte* to) {
    if (held_.empty()) {
      held_.resize(static_cast<std::size_t>((last_position(layout_) + 1) * width_));
      bytes_->read(layout_.offset, static_cast<std::int64_t>(held_.size()), held_.data());
    }
    const TensorView all =
        view_bytes(held_.data(), *layout_.format, layout_.shape, layout_.strides);
    std::vector<std::int64_t> index = all.multi_index(begin);
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * layout_.strides[d];
      std::memcpy(to + i * width_, held_.data() + at * width_, static_cast<std::size_t>(width_));
      for (std::size_t d = index.size(); d-- > 0;) {
        if (++index[d] < layout_.shape[d]) break;
        index[d] = 0;
      }
    }
  }

  void read_packed(std::int64_t begin, std::int64_t count, std::byte* to) {
    const std::int64_t first = begin / 2, last = (begin + count + 1) / 2;
    std::vector<std::byte> pairs(static_cast<std::size_t>(last - first));
    bytes_->read(layout_.offset + first, last - first, pairs.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::byte pair = pairs[static_cast<std::size_t>((begin + i) / 2 - first)];
      to[i] = (begin + i) % 2 == 0 ? pair & std::byte{0x0F} : pair >> 4;
    }
  }

  // In the file the elements of a column lie one after another. Reading a few of them takes as long
  // as reading a page, so whole rows are read in bands. Small reads, and rows that are too large
  // for memory, are read element by element.
  void read_column_major(std::int64_t begin, std::int64_t count, std::byte* to) {
    constexpr std::int64_t kFew = 16, kMostHeld = std::int64_t{256} << 20;
    const std::int64_t row = element_count(layout_.shape) / layout_.shape.front();
    while (count > 0) {
      const std::int64_t first = begin / row;
      const bool held = first >= band_.first && first < band_.first + band_.rows;
      if (!held && (count <= kFew || row * width_ > kMostHeld)) {
        bytes_->read(layout_.offset + position_of(begin) * width_, width_, to);
        ++begin, --count, to += width_;
        continue;
      }
      if (!held) read_band(first, row);
      const std::int64_t n = std::min(count, (band_.first + band_.rows) * row - begin);
      std::memcpy(to, band_.elements.data() + (begin - band_.first * row) * width_,
                  static_cast<std::size_t>(n * width_));
      begin += n, count -= n, to += n * width_;
    }
  }

  // Returns the position in a column-major array of the element at a row-major position.
  std::int64_t position_of(std::int64_t element) const {
    std::int64_t at = 0, step = element_count(layout_.shape);
    for (std::size_t d = layout_.shape.size(); d-- > 0;) {
      step /= layout_.shape[d];
      at += element % layout_.shape[d] * step;
      element /= layout_.shape[d];
    }
    return at;
  }

  // Reads rows of `row` elements each, starting at row `first`. Columns are read in the order of
  // the file. Several columns are read at a time if they are short or if most of them is needed.
  void read_band(std::int64_t first, std::int64_t row) {
    constexpr std::int64_t kBand = std::int64_t{16} << 20, kShort = 4096;
    constexpr std::int64_t kBlock = std::int64_t{1} << 20, kTile = 16;
    const std::int64_t height = layout_.shape.front();
    const std::int64_t rows = std::clamp<std::int64_t>(kBand / (row * width_), 1, height - first);
    const bool whole = height * width_ <= kShort || 2 * rows >= height;
    const std::int64_t pitch = whole ? height : rows, skip = whole ? first : 0;
    const std::int64_t most =
        whole ? std::max<std::int64_t>(kBlock / (pitch * width_), 1) : std::min(kTile, row);
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(most, row) * pitch * width_));
    band_.rows = 0;  // The band counts as empty until all of it is read.
    band_.elements.resize(static_cast<std::size_t>(rows * row * width_));
    // The column's index in each dimension. That of the first dimension is not used.
    std::vector<std::int64_t> index(layout_.shape.size());
    for (std::int64_t begin = 0; begin < row; begin += most) {
      const std::int64_t columns = std::min(most, row - begin);
      if (whole) {
        bytes_->read(layout_.offset + begin * height * width_, columns * height * width_,
                     block.data());
      }
      for (std::int64_t tile = 0; tile < columns; tile += kTile) {
        const std::int64_t n = std::min(kTile, columns - tile);
        std::int64_t to[kTile];  // the places of the columns in a row-major row
        for (std::int64_t c = 0; c < n; ++c) {
          to[c] = next_column(index);
          if (whole) continue;
          bytes_->read(layout_.offset + ((begin + tile + c) * height + first) * width_,
                       rows * width_, block.data() + c * rows * width_);
        }
        const std::byte* const from = block.data() + ((whole ? tile * pitch : 0) + skip) * width_;
        put_tile(from, pitch, to, n, rows, row);
      }
    }
    band_.first = first, band_.rows = rows;
  }

  // Returns the place in a row-major row of the column whose index in the other dimensions is
  // `index`. Then advances `index` to the next column of the file.
  std::int64_t next_column(std::vector<std::int64_t>& index) const {
    std::int64_t place = 0;
    for (std::size_t d = 1; d < index.size(); ++d) place = place * layout_.shape[d] + index[d];
    for (std::size_t d = 1; d < index.size(); ++d) {
      if (++index[d] < layout_.shape[d]) break;
      index[d] = 0;
    }
    return place;
  }

  void put_tile(const std::byte* from, std::int64_t pitch, const std::int64_t* to, std::int64_t n,
                std::int64_t rows, std::int64_t row) {
    switch (width_) {
      case 1:
        return put_tile_of<1>(from, pitch, to, n, rows, row);
      case 2:
        return put_tile_of<2>(from, pitch, to, n, rows, row);
      case 4:
        return put_tile_of<4>(from, pitch, to, n, rows, row);
      case 8:
        return put_tile_of<8>(from, pitch, to, n, rows, row);
      default:
        return put_tile_of<16>(from, pitch, to, n, rows, row);
    }
  }

  template <std::size_t kWidth>
  void put_tile_of(const std::byte* from, std::int64_t pitch, const std::int64_t* to,
                   std::int64_t n, std::int64_t rows, std::int64_t row) {
    constexpr auto kStep = static_cast<std::int64_t>(kWidth);
    for (std::int64_t r = 0; r < rows; ++r) {
      std::byte* const line = band_.elements.data() + r * row * kStep;
      for (std::int64_t c = 0; c < n; ++c) {
        std::memcpy(line + to[c] * kStep, from + (c * pitch + r) * kStep, kWidth);
      }
    }
  }

  std::string path_;
  std::shared_ptr<ByteSource> bytes_;
  ArrayLayout layout_;
  std::int64_t width_;
  std::vector<std::byte> held_;  // all bytes that the strides span, if the array has strides
  // Whole rows that were read from a column-major array.
  struct Band {
    std::int64_t first = 0, rows = 0;
    std::vector<std::byte> elements;  // the elements of these rows, in row-major order
  } band_;
};

}  // namespace

double bytes_needed(const std::string& path, const Format& format, const Shape& shape,
                    bool packed) {
  const std::int64_t elements = in_file(path, [&] { return element_count(shape); });
  if (packed) return static_cast<double>(elements / 2 + elements % 2);
  return static_cast<double>(elements) * static_cast<double>(format.storage_bytes);
}

std::unique_ptr<ArraySource> plain_array(std::string path, std::shared_ptr<ByteSource> bytes,
                                         ArrayLayout layout) {
  return std::make_unique<PlainArray>(std::move(path), std::move(bytes), std::move(layout));
}

StoredPlace place_within(const ByteSource& bytes, std::int64_t offset, std::int64_t size) {
  StoredPlace place = bytes.place();
  // The place of an archive's member is a negative number. The array's offset is subtracted from
  // it, so that two arrays in one member have different places.
  place.begin += place.begin < 0 ? -(offset << 20) : offset;
  place.size = size;
  return place;
}

std::string text_of(ByteSource& bytes, std::int64_t most, const std::string& path,
                    const std::string& what) {
  if (bytes.size() > most) {
    throw file_error(path, what, "has {} bytes, but assay reads at most {} bytes of it",
                     bytes.size(), most);
  }
  std::string text(static_cast<std::size_t>(bytes.size()), '\0');
  bytes.read(0, bytes.size(), reinterpret_cast<std::byte*>(text.data()));
  return text;
}

std::string bytes_of(const TensorView& view) {
  const std::int64_t size = view.size() * view.format->storage_bytes;
  if (size == 0) return "";
  if (!view.is_contiguous()) return bytes_of(copy_of(view));
  return {reinterpret_cast<const char*>(view.data), static_cast<std::size_t>(size)};
}

}  // namespace assay
