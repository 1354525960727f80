// How a new file reaches the disk.
#pragma once

#include "assay/datasets/store/handle.h"

namespace assay::h5 {

// File access properties for H5Fcreate with a driver whose writes never fail. Once a flush has
// failed -- a full disk -- HDF5 1.10 can no longer close the file: H5Fclose fails, and the next
// call, or the end of the program, crashes. So the first error goes to `error` as an errno, and
// what HDF5 writes after it is dropped; whoever creates the file asks `error` before believing in
// it. `error` must be 0 at first and outlive the file. What is written is the empty file of the
// descriptor, which is duplicated; the name that H5Fcreate is given is for its messages.
Handle write_access(int fd, int* error);

}  // namespace assay::h5
