#include "assay/datasets/plain_array.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/file_error.h"
#include "assay/datasets/types.h"

namespace assay {
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

// The last element's position in elements; of an array that has some.
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
  // Strides are read from bytes that the first read holds, and columns best by few reads.
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

  // Whether the strides go as these do; those of one step go nowhere.
  bool are_steps(const Strides& others) const {
    for (std::size_t d = 0; d < layout_.shape.size(); ++d) {
      if (layout_.shape[d] > 1 && layout_.strides[d] != others[d]) return false;
    }
    return true;
  }

  // The bytes that the strides span are read once, and held.
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
  std::shared_ptr<ByteSource> bytes_;
  ArrayLayout layout_;
  std::int64_t width_;
  std::vector<std::byte> held_;
};

}  // namespace

double bytes_needed(const std::string& path, const Format& format, const Shape& shape,
                    bool packed) {
  try {
    const std::int64_t elements = element_count(shape);
    if (packed) return static_cast<double>(elements / 2 + elements % 2);
    return static_cast<double>(elements) * static_cast<double>(format.storage_bytes);
  } catch (const std::invalid_argument& e) {
    throw FileError(path, "", e.what());
  }
}

std::unique_ptr<ArraySource> plain_array(std::string path, std::shared_ptr<ByteSource> bytes,
                                         ArrayLayout layout) {
  return std::make_unique<PlainArray>(std::move(path), std::move(bytes), std::move(layout));
}

StoredPlace place_within(const ByteSource& bytes, std::int64_t offset, std::int64_t size) {
  StoredPlace place = bytes.place();
  // Members of an archive are numbered below 0; two arrays of one member differ by their offset.
  place.begin += place.begin < 0 ? -(offset << 20) : offset;
  place.size = size;
  return place;
}

std::string text_of(ByteSource& bytes, std::int64_t most, const std::string& path,
                    const std::string& what) {
  if (bytes.size() > most) {
    throw FileError(path, what,
                    formatted("has {} bytes, over the {} that are read", bytes.size(), most));
  }
  std::string text(static_cast<std::size_t>(bytes.size()), '\0');
  bytes.read(0, bytes.size(), reinterpret_cast<std::byte*>(text.data()));
  return text;
}

std::string bytes_of(const TensorView& view) {
  const auto text = [](const std::byte* data, std::int64_t size) {
    return std::string(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
  };
  const std::int64_t size = view.size() * view.format->storage_bytes;
  if (size == 0) return "";
  if (view.is_contiguous()) return text(view.data, size);
  const Tensor copy = copy_of(view);
  return text(copy.bytes(), size);
}

}  // namespace assay
