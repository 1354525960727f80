// An array that is read piece by piece, wherever it lies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/tensor/tensor.h"

namespace assay {

// Where an array's bytes lie: two that are equal are the same bytes, by whatever path or link.
struct StoredPlace {
  std::uint64_t device = 0, inode = 0;
  // The bytes in the file. What has no one range, of an HDF5 dataset in chunks or of a member of an
  // archive, has a number of its own below 0.
  std::int64_t begin = 0, size = 0;
  bool operator==(const StoredPlace&) const = default;
};
// That of a whole file; of none where there is no such file.
StoredPlace file_place(const std::string& path);

class ArraySource {
 public:
  virtual ~ArraySource() = default;
  virtual const Format& format() const = 0;
  virtual const Shape& shape() const = 0;
  // Copies the elements [begin, begin + count) in row-major order. Quickest in order from 0 on;
  // then checksums and what is missing are noticed too. Throws FileError.
  virtual void read(std::int64_t begin, std::int64_t count, std::byte* to) = 0;
  virtual StoredPlace place() const = 0;
};

}  // namespace assay
