// Zip archives, as numpy.savez and torch.save write them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "assay/datasets/arrays/byte_source.h"

struct zip;  // libzip's

namespace assay {

// An archive with stored or deflated members; those beyond 4 GiB (zip64) too.
class ZipArchive {
 public:
  // Throws FileError where the file is no such archive.
  explicit ZipArchive(const std::string& path);

  // In the order of the directory; a name may stand twice.
  const std::vector<std::string>& names() const { return names_; }
  // A member by its position; it keeps the archive open. Read in order, its checksum is verified at
  // its end. Throws FileError where the member is encrypted, compressed in another way, or says
  // that it has more bytes than its deflated ones can hold.
  std::unique_ptr<ByteSource> open(std::size_t index) const;

 private:
  std::string path_;
  std::shared_ptr<::zip> archive_;
  std::vector<std::string> names_;
};

struct ZipEntry {
  std::string name, bytes;
};
// The bytes of an archive of these members, stored as they are, in this order; always the same
// ones. Throws std::runtime_error with the reason where it cannot be made.
std::string zipped(const std::vector<ZipEntry>& entries);

// What a byte of deflated data can become at most: 258 bytes take no less than two bits.
inline constexpr std::int64_t kMostPerDeflatedByte = 1032;

}  // namespace assay
