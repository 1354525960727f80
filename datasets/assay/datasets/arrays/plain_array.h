// Elements that lie in bytes one after another, or in strides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "assay/datasets/arrays/byte_source.h"
#include "assay/datasets/store/array_source.h"

namespace assay {

struct ArrayLayout {
  const Format* format = nullptr;
  Shape shape = {};
  std::int64_t offset = 0;  // of the first element, in bytes
  bool swap = false;        // big-endian
  bool column_major = false;
  bool packed = false;   // two elements of 4 bits a byte, the one in the low bits first; row-major
  Strides strides = {};  // in elements, none below 0; empty: rows (or columns) without gaps
  StoredPlace place = {};
  bool shape_is_inferred = false;
};

// The bytes that elements from the offset on take; a float64, for a hostile shape may exceed int64.
// Throws FileError, which `path` names, where the shape is none.
double bytes_needed(const std::string& path, const Format& format, const Shape& shape,
                    bool packed = false);

// `path` names the array in messages. The bytes must hold it (bytes_needed).
std::unique_ptr<ArraySource> plain_array(std::string path, std::shared_ptr<ByteSource> bytes,
                                         ArrayLayout layout);

// The place of an array within a file, or within an archive's member.
StoredPlace place_within(const ByteSource& bytes, std::int64_t offset, std::int64_t size);

// All bytes of a small source, as text. Throws FileError where there are more than `most`; `what`
// names it there.
std::string text_of(ByteSource& bytes, std::int64_t most, const std::string& path,
                    const std::string& what);

// Elements one after another in a view's row-major order, as text.
std::string bytes_of(const TensorView& view);

}  // namespace assay
