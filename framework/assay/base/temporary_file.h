// What a file is written to until it is whole.
#pragma once

#include <string>

namespace assay {

// A file without a name in the folder of its destination, which gets the destination's name when it
// is whole: whatever ends the process before leaves nothing behind. Where the file system knows no
// such files (NFS) it has a name that cannot be guessed, is opened only if it is new, and is
// removed unless the process is killed. Where the destination is a link, what that leads to is
// replaced; the mode of what is replaced stays.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Of the file, for reading and writing; below 0 where it could not be opened: then error() is the
  // errno.
  int descriptor() const { return descriptor_; }
  int error() const { return error_; }
  // Moves it into place; once. Gives 0, or the errno of what failed: then the destination is as it
  // was.
  int commit(bool sync);

 private:
  std::string target_, name_;  // name_: empty while it has none
  int descriptor_ = -1, error_ = 0;
};

// That a file at this path, which is about to be removed, will be written anew with its mode.
void keep_mode(const std::string& path);

}  // namespace assay
