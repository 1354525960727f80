#include "assay/datasets/store/open_dataset.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "assay/datasets/store/types.h"

namespace assay::inline v0_2::h5 {

class Reader::DatasetPieces : public ArraySource {
 public:
  DatasetPieces(const Reader& reader, std::string object, std::shared_ptr<const OpenDataset> opened)
      : reader_(reader),
        object_(std::move(object)),
        opened_(std::move(opened)),
        element_bytes_(static_cast<std::size_t>(opened_->format->storage_bytes)),
        size_(element_count(opened_->shape)),
        row_(opened_->plain != nullptr ? 1 : chunk_row(opened_->stored())),
        written_(reader.checksums_.find(object_)) {
    if (static_cast<double>(row_) * static_cast<double>(element_bytes_) > kMostOfRow) row_ = 1;
  }
  const Format& format() const override { return *opened_->format; }
  const Shape& shape() const override { return opened_->shape; }
  StoredPlace place() const override { return reader_.place_of(object_); }

  bool serves_threads() const override {
    // Any thread may refuse an element, which calls HDF5, so HDF5 must be thread-safe.
    return opened_->plain != nullptr && hdf5_is_threadsafe();
  }
  void read_part(std::int64_t begin, std::int64_t count, std::byte* to) override {
    const auto at = static_cast<std::uint64_t>(bytes_of(begin));
    if (!reader_.plain_->read_many(*opened_->plain, at, bytes_of(count), to)) {
      reader_.refuse(object_, kCannotRead);
    }
    take(begin, count, to);
  }
  bool checks_parts() const override { return written_.has_value(); }
  void check_part(std::int64_t begin, std::int64_t count, const std::byte* elements) override {
    if (!written_) return;
    if (begin == 0) {
      sum_ = std::make_unique<TensorSum>(format().name, shape());
      summed_ = 0;
    }
    // If the elements are read in order from beginning to end, their checksum is verified at the
    // end.
    if (sum_ == nullptr || begin != summed_) return;
    sum_->add(elements, bytes_of(count));
    summed_ += count;
    if (summed_ == size_ && *written_ != sum_->sum()) {
      reader_.refuse_changed(object_, "its elements are not those that were written");
    }
  }

  void read(std::int64_t begin, std::int64_t count, std::byte* to) override {
    quiet_hdf5();  // HDF5's printing is switched off for each thread, here for the one that reads
    if (begin == 0) {
      found_ = 0;
      held_.clear();
    }
    const std::byte* const first = to;
    const std::int64_t first_begin = begin, all = count;
    // Whole rows of chunks are read directly to their place. If a piece ends within a row, the rest
    // of the row is kept.
    while (count > 0) {
      const std::int64_t row = begin / row_ * row_, row_end = std::min(row + row_, size_);
      std::int64_t taken = std::min(count, row_end - begin);
      if (begin == row && taken == row_end - row) {
        const std::int64_t end = begin + count;
        taken = (end == size_ ? end : end / row_ * row_) - begin;
        read_range(begin, taken, to);
      } else {
        if (held_.empty() || held_begin_ != row) {
          held_.resize(bytes_of(row_end - row));
          held_begin_ = row;
          read_range(row, row_end - row, held_.data());
        }
        std::memcpy(to, held_.data() + bytes_of(begin - row), bytes_of(taken));
      }
      begin += taken;
      count -= taken;
      to += bytes_of(taken);
    }
    check_part(first_begin, all, first);
  }

 private:
  static constexpr double kMostOfRow = 0x1p28;  // bytes

  std::size_t bytes_of(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * element_bytes_;
  }

  void read_range(std::int64_t begin, std::int64_t count, std::byte* to) {
    const std::string why = reader_.read_elements(*opened_, begin, count, to, found_);
    if (!why.empty()) reader_.refuse(object_, why);
    take(begin, count, to);
  }

  // Converts elements from their form in the file to codes of the format.
  void take(std::int64_t begin, std::int64_t count, std::byte* to) const {
    if (opened_->swap_bytes) swap_bytes(*opened_->format, to, count);
    to_codes(*opened_->format, to, count);
    const TensorView piece = view_bytes(to, *opened_->format, {count});
    const std::string invalid = invalid_element(piece, opened_->shape, begin);
    if (!invalid.empty()) reader_.refuse(object_, invalid);
  }

  const Reader& reader_;
  std::string object_;
  std::shared_ptr<const OpenDataset> opened_;
  std::size_t element_bytes_;
  // The number of elements of the dataset, and of a row of its chunks. If `row_` is 1, a piece may
  // end at any element.
  std::int64_t size_, row_;
  std::optional<std::uint64_t> written_;  // the dataset's checksum in the file's table
  std::uint64_t found_ = 0;               // the number of stored chunks that were read
  std::vector<std::byte> held_;  // the elements of one row of chunks, which begins at held_begin_
  std::int64_t held_begin_ = 0;
  std::unique_ptr<TensorSum> sum_;  // checksum of the elements before summed_
  std::int64_t summed_ = 0;
};

std::unique_ptr<ArraySource> Reader::open_pieces(const std::string& object) const {
  return std::make_unique<DatasetPieces>(*this, object, open_tensor(object));
}

std::unique_ptr<ArraySource> Reader::open_any(const std::string& object,
                                              const std::string& dtype) const {
  return std::make_unique<DatasetPieces>(
      *this, object, std::make_shared<const OpenDataset>(open_tensor(object, &dtype)));
}

}  // namespace assay::h5
