// An array that is read piece by piece, from any kind of storage.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/datasets/store/stored_place.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

class ArraySource {
 public:
  virtual ~ArraySource() = default;
  virtual const Format& format() const = 0;
  virtual const Shape& shape() const = 0;
  // Copies the elements [begin, begin + count) in row-major order. Reading in order from 0 is
  // fastest, and only then are wrong checksums and missing data noticed. Throws FileError.
  virtual void read(std::int64_t begin, std::int64_t count, std::byte* to) = 0;
  // Returns true if several threads may read at a time, with read_part(). That function reads like
  // read(), but without the checks that need the elements in order. If checks_parts() is true,
  // check_part() makes these checks: one thread at a time passes it the elements that were read, in
  // order from 0. read_part() and check_part() throw FileError.
  virtual bool serves_threads() const { return false; }
  virtual void read_part(std::int64_t begin, std::int64_t count, std::byte* to) {
    read(begin, count, to);
  }
  virtual bool checks_parts() const { return false; }
  virtual void check_part(std::int64_t /*begin*/, std::int64_t /*count*/,
                          const std::byte* /*elements*/) {}
  virtual StoredPlace place() const = 0;
  // Returns true if nothing says the shape. It is then one dimension with as many elements as the
  // bytes hold.
  virtual bool shape_is_inferred() const { return false; }
};

}  // namespace assay
