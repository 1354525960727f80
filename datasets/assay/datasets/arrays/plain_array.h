// Arrays whose elements lie one after another, or at strides, in a source of bytes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "assay/datasets/arrays/byte_source.h"
#include "assay/datasets/store/array_source.h"

namespace assay::inline v0_2 {

struct ArrayLayout {
  const Format* format = nullptr;
  Shape shape = {};
  std::int64_t offset = 0;  // the position of the first element, in bytes
  bool swap = false;        // big-endian
  bool column_major = false;
  // If true, a byte holds two elements of 4 bits, the first one in the low bits. The array must be
  // row-major.
  bool packed = false;
  // The strides in elements, which are not negative. Empty if the rows (or columns) lie one after
  // another without gaps.
  Strides strides = {};
  StoredPlace place = {};
  bool shape_is_inferred = false;
};

// Returns the number of bytes that the elements take, without the offset. The type is double
// because the number may exceed int64 for a hostile shape. Throws FileError, which names `path`, if
// the shape is not valid.
double bytes_needed(const std::string& path, const Format& format, const Shape& shape,
                    bool packed = false);

// Returns the elements in `bytes`, which must be large enough (bytes_needed). `path` is the array's
// name in messages.
std::unique_ptr<ArraySource> plain_array(std::string path, std::shared_ptr<ByteSource> bytes,
                                         ArrayLayout layout);

// Returns the place of an array within a file, or within an archive's member.
StoredPlace place_within(const ByteSource& bytes, std::int64_t offset, std::int64_t size);

// Reads all bytes of a small source as text. Throws FileError, whose message calls the source
// `what`, if there are more than `most` bytes.
std::string text_of(ByteSource& bytes, std::int64_t most, const std::string& path,
                    const std::string& what);

// Returns a string with the bytes of the elements, one after another in the view's row-major order.
std::string bytes_of(const TensorView& view);

}  // namespace assay
