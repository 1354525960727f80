// Opens an HDF5 file from outside, and lets another process check it before HDF5 reads it here.
#pragma once

#include <memory>
#include <string>

#include "assay/datasets/checks/file_check.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::inline v0_2::h5 {

// A file that is open for reading. It is opened by HDF5, after a check by another process, only
// when a request cannot be answered without HDF5.
class OpenedFile {
 public:
  // Throws FileError, which says in plain words why the file cannot be opened.
  explicit OpenedFile(const std::string& path);
  // Uses an open descriptor: only HDF5 reads it, without a lock and without a check by another
  // process.
  OpenedFile(const std::string& path, int fd);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  // Returns a text that identifies the file. It is equal for two OpenedFile objects of the same
  // file, unless the file was written in between. It is empty if the file was opened by a
  // descriptor or is locked by a writer.
  const std::string& identity() const { return identity_; }
  // Reads objects without HDF5. Null if the file was opened by a descriptor or is locked by a
  // writer.
  PlainObjects* plain() const { return plain_.get(); }
  // Returns another reader of the same file for another thread, which outlives this object. Null if
  // plain() is null.
  std::unique_ptr<PlainObjects> another_plain() const;
  // Returns a reader as another_plain() does, but creates it only once. It is used by one thread at
  // a time.
  std::shared_ptr<PlainObjects> lasting_plain();
  // Returns HDF5's handle of the file. Throws FileError if the checking process, or HDF5, refuses
  // it.
  hid_t hdf5();
  // Returns the check by another process, or null if there is no such check. Throws FileError in
  // the same situations as hdf5().
  FileCheck* check();

 private:
  std::string path_, identity_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
  std::unique_ptr<PlainObjects> plain_;
  std::shared_ptr<PlainObjects> lasting_plain_;
  std::unique_ptr<FileCheck> check_;
  Handle file_;
};

}  // namespace assay::h5
