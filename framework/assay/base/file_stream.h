// A file that is written part by part, and is there when all of it is.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace assay {

// Writes to a temporary file beside `path`, which commit() syncs and moves into place; a pipe or
// device is written to as it is. Everything throws std::runtime_error that names the path and the
// reason; without commit() `path` stays as it was, and nothing is left.
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

  std::string path_, temporary_;  // temporary_: empty of what has no place to be moved into
  std::FILE* out_ = nullptr;
};

}  // namespace assay
