// A file that is written part by part, and appears only when it is complete.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "assay/base/temporary_file.h"

namespace assay::inline v0_2 {

// Writes to a TemporaryFile, which commit() syncs and moves into place. Pipes and devices are
// written to directly. Every function throws std::runtime_error, which names the path and the
// reason. Without commit(), `path` stays unchanged and no file is left.
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
  std::unique_ptr<TemporaryFile> temporary_;  // null if the path is a pipe or a device
  std::FILE* out_ = nullptr;
};

}  // namespace assay
