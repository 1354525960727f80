// A temporary file, to which a file is written until it is complete.
#pragma once

#include <string>

namespace assay::inline v0_2 {

// A file without a name in the folder of its destination. It gets the destination's name when it is
// complete, so nothing remains if the process ends earlier. If the file system does not support
// such files (NFS), the file has a name that cannot be guessed. It is then opened only if it is
// new, and removed unless the process is killed. If the destination is a link, the target of the
// link is replaced. The mode of a replaced file is kept.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Returns the file's descriptor, for reading and writing. If the file could not be opened, it is
  // negative and error() is the errno.
  int descriptor() const { return descriptor_; }
  int error() const { return error_; }
  // Moves the file into place. May be called once. Returns 0, or the errno of the step that failed.
  // The destination is then unchanged.
  int commit(bool sync);

 private:
  std::string target_, name_;  // name_ is empty while the file has no name
  int descriptor_ = -1, error_ = 0;
};

// Announces that the file at this path is about to be removed. A new file there will get its mode.
void keep_mode(const std::string& path);

}  // namespace assay
