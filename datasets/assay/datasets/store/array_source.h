// An array that is read piece by piece, wherever it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/datasets/store/stored_place.h"
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
  // Whether several threads may read at a time: by read_part(), which is read() but for what is
  // noticed in order. That is left to check_part(), where the source asks for it: one thread at a
  // time hands it what was read, in order from 0 on. Throw FileError.
  virtual bool serves_threads() const { return false; }
  virtual void read_part(std::int64_t begin, std::int64_t count, std::byte* to) {
    read(begin, count, to);
  }
  virtual bool checks_parts() const { return false; }
  virtual void check_part(std::int64_t /*begin*/, std::int64_t /*count*/,
                          const std::byte* /*elements*/) {}
  virtual StoredPlace place() const = 0;
  // Whether nothing says the shape: it is the number of elements that the bytes hold.
  virtual bool shape_is_inferred() const { return false; }
};

}  // namespace assay
