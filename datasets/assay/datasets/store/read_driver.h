// How a file from outside is read: through one descriptor, whatever happens to its name, and with
// what HDF5 believes without a look looked at first (metadata_checks.h).
#pragma once

#include "assay/datasets/store/global_heap.h"
#include "assay/datasets/store/handle.h"

namespace assay::h5 {

// File access properties for H5Fopen. The descriptor of a regular file is duplicated when the file
// is opened. `lock`: against writers, as HDF5 does it.
Handle read_access(int fd, bool lock);

// Returns the global heap of a file that was opened with these properties. It lasts as long as the
// file is open.
GlobalHeap& heap_of(hid_t file);

// While one lives, what its thread reads are elements of datasets, and no metadata.
class ReadingElements {
 public:
  ReadingElements();
  ~ReadingElements();
  ReadingElements(const ReadingElements&) = delete;
  ReadingElements& operator=(const ReadingElements&) = delete;
};

}  // namespace assay::h5
