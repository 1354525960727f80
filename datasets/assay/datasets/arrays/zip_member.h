// Zip archives, as numpy.savez and torch.save write them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "assay/datasets/arrays/byte_source.h"

struct zip;  // libzip's

namespace assay::inline v0_2 {

// An archive with stored or deflated members. It may be larger than 4 GiB (zip64).
class ZipArchive {
 public:
  // Opens the archive. Throws FileError if the file is not a zip archive.
  explicit ZipArchive(const std::string& path);

  // Returns the members' names in the order of the zip directory. A name may occur twice.
  const std::vector<std::string>& names() const { return names_; }
  // Opens a member by its position. The member keeps the archive open. If it is read in order, its
  // checksum is verified at its end. Throws FileError if the member is encrypted, is compressed in
  // another way, or claims more bytes than its deflated bytes can hold.
  std::unique_ptr<ByteSource> open(std::size_t index) const;

 private:
  std::string path_;
  std::shared_ptr<::zip> archive_;
  std::vector<std::string> names_;
};

struct ZipEntry {
  std::string name, bytes;
};
// Returns the bytes of an archive of these members, stored uncompressed and in this order. The
// bytes are always the same. Throws std::runtime_error with the reason if the archive cannot be
// made.
std::string zipped(const std::vector<ZipEntry>& entries);

// The most bytes that one deflated byte can become: a match of 258 bytes takes at least two bits.
inline constexpr std::int64_t kMostPerDeflatedByte = 1032;

}  // namespace assay
