// File access for writing a new file.
#pragma once

#include "assay/datasets/store/handle.h"

namespace assay::inline v0_2::h5 {

// Returns file access properties for H5Fcreate with a driver whose writes never report a failure to
// HDF5. Once a flush has failed, for example because the disk is full, HDF5 1.10 can no longer
// close the file: H5Fclose fails, and the next call, or the end of the program, crashes. So the
// first error goes to `error` as an errno, and later writes of HDF5 are dropped. The creator of the
// file must check `error` before using it. `error` must be 0 at first and outlive the file. The
// driver writes to the empty file of the descriptor, which is duplicated. The name that H5Fcreate
// gets is only for its messages.
Handle write_access(int fd, int* error);

}  // namespace assay::h5
