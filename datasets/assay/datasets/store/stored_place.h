// The place where bytes are stored, which tells whether two arrays are the same stored bytes.
#pragma once

#include <cstdint>
#include <string>

namespace assay::inline v0_2 {

// The place of an array's bytes. If two places are equal, they are the same bytes, by whatever path
// or link.
struct StoredPlace {
  std::uint64_t device = 0, inode = 0;
  // The range of bytes in the file. Data without a single range, such as an HDF5 dataset in chunks
  // or a member of an archive, have a number of their own below 0.
  std::int64_t begin = 0, size = 0;
  bool operator==(const StoredPlace&) const = default;
};
// Returns the place of a whole file, or a place that stands for no file if the file does not exist.
StoredPlace file_place(const std::string& path);

}  // namespace assay
