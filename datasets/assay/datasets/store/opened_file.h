// Opening an HDF5 file from outside, and what looks at it before HDF5 does here.
#pragma once

#include <memory>
#include <string>

#include "assay/datasets/checks/file_check.h"
#include "assay/datasets/store/handle.h"
#include "assay/datasets/store/plain_objects.h"

namespace assay::h5 {

// A file that is open for reading. HDF5 opens it, and another process looks at it before, when
// something is asked that is not known without them.
class OpenedFile {
 public:
  // Throws FileError that says in plain words why it cannot be opened.
  explicit OpenedFile(const std::string& path);
  // Of a descriptor that is open: by HDF5 alone, without a lock and with nothing that looks at it.
  OpenedFile(const std::string& path, int fd);
  ~OpenedFile();
  OpenedFile(const OpenedFile&) = delete;
  OpenedFile& operator=(const OpenedFile&) = delete;

  // What another one of the same file has as well, unless the file was written to in between; empty
  // of a descriptor.
  const std::string& identity() const { return identity_; }
  // What needs no HDF5; null of a descriptor.
  PlainObjects* plain() const { return plain_.get(); }
  // Others of the same file, for another thread, which outlive this; null where plain() is.
  std::unique_ptr<PlainObjects> another_plain() const;
  // The same, made once. One thread at a time.
  std::shared_ptr<PlainObjects> lasting_plain();
  // HDF5's number of the file. Throws FileError where the process that looks, or HDF5, refuses it.
  hid_t hdf5();
  // What looks at it; null where nothing does. As hdf5().
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
