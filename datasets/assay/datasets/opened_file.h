// Opening an HDF5 file from outside, and what looks at it before HDF5 does here.
#pragma once

#include <memory>
#include <string>

#include "assay/datasets/file_check.h"
#include "assay/datasets/handle.h"

namespace assay::h5 {

// A file that is open, and what looks at it; null where nothing does.
struct OpenedFile {
  std::unique_ptr<FileCheck> check;
  Handle file;
};

// Opens an HDF5 file for reading. Throws FileError that says in plain words why it cannot be.
OpenedFile open_file(const std::string& path);
// Of a descriptor that is open, without a lock and with nothing that looks at it.
Handle open_descriptor(const std::string& path, int fd);

}  // namespace assay::h5
