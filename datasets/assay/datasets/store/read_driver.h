// File access for a file from outside. The file is read through one descriptor, even if its name
// changes. Data that HDF5 would trust are checked first (metadata_checks.h).
#pragma once

#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::inline v0_2::h5 {

// Returns file access properties for H5Fopen. The descriptor of a regular file is duplicated when
// the file is opened. `lock` protects against writers, as HDF5 does it.
Handle read_access(int fd, bool lock);

// Returns the global heap of a file that was opened with these properties. It lives as long as the
// file is open.
GlobalHeap& heap_of(hid_t file);

// During the lifetime of such an object, its thread reads elements of datasets and no metadata.
class ReadingElements {
 public:
  ReadingElements();
  ~ReadingElements();
  ReadingElements(const ReadingElements&) = delete;
  ReadingElements& operator=(const ReadingElements&) = delete;
};

}  // namespace assay::h5
