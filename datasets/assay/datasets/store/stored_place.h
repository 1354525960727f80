// Where bytes lie, to know whether two arrays are the same ones.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace assay
