// Bytes that are read at any place: of a file, or (zip_member.h) of a member of a zip archive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "assay/datasets/store/array_source.h"

namespace assay {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  virtual std::int64_t size() const = 0;
  // Copies the bytes [at, at + count). Throws FileError.
  virtual void read(std::int64_t at, std::int64_t count, std::byte* to) = 0;
  // Whether several threads may read at a time.
  virtual bool serves_threads() const { return false; }
  // Of the first byte on (array_source.h).
  virtual StoredPlace place() const = 0;
};

// A regular file. Throws FileError where it cannot be opened.
std::unique_ptr<ByteSource> open_plain(const std::string& path);

// The same bytes in a temporary file without a name: for sources that are slow to read out of
// order. Throws FileError where there is no room.
std::unique_ptr<ByteSource> spooled(const std::string& path, ByteSource& source);

}  // namespace assay
