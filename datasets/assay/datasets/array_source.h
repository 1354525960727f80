// An array that is read piece by piece, wherever it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/datasets/stored_place.h"
#include "assay/tensor/tensor.h"

namespace assay {

class ArraySource {
 public:
  virtual ~ArraySource() = default;
  virtual const Format& format() const = 0;
  virtual const Shape& shape() const = 0;
  // Copies the elements [begin, begin + count) in row-major order. Quickest in order from 0 on;
  // then checksums and what is missing are noticed too. Throws FileError.
  virtual void read(std::int64_t begin, std::int64_t count, std::byte* to) = 0;
  // Whether several threads may read at a time.
  virtual bool serves_threads() const { return false; }
  virtual StoredPlace place() const = 0;
  // Whether nothing says the shape: it is the number of elements that the bytes hold.
  virtual bool shape_is_inferred() const { return false; }
};

}  // namespace assay
