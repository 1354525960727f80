// A file that is written part by part, and is there when all of it is.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "assay/base/temporary_file.h"

namespace assay {

// Writes to a TemporaryFile, which commit() syncs and moves into place; a pipe or device is written
// to as it is. Everything throws std::runtime_error that names the path and the reason; without
// commit() `path` stays as it was, and nothing is left.
class FileStream {
 public:
  explicit FileStream(std::string path);
  ~FileStream();
  FileStream(const FileStream&) = delete;
  FileStream& operator=(const FileStream&) = delete;

  void write(std::string_view text);
  void commit();

 private:
  [[noreturn]] void fail(int error);

  std::string path_;
  std::unique_ptr<TemporaryFile> temporary_;  // null of what has no place to be moved into
  std::FILE* out_ = nullptr;
};

}  // namespace assay
