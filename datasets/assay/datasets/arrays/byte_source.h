// Bytes that can be read at any position: those of a file, or of a member of a zip archive
// (zip_member.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "assay/datasets/store/array_source.h"

namespace assay::inline v0_2 {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::int64_t size() const = 0;
  // Copies the bytes [at, at + count). Throws FileError.
  virtual void read(std::int64_t at, std::int64_t count, std::byte* to) = 0;
  // Returns true if several threads may read at a time.
  virtual bool serves_threads() const { return false; }
  // Returns the place where the first byte is stored (stored_place.h).
  virtual StoredPlace place() const = 0;
};

// Opens a regular file. Throws FileError if it cannot be opened.
std::unique_ptr<ByteSource> open_plain(const std::string& path);

// Copies the bytes to a temporary file without a name, for sources that are slow to read out of
// order. Throws FileError if there is no room.
std::unique_ptr<ByteSource> spooled(const std::string& path, ByteSource& source);

}  // namespace assay
