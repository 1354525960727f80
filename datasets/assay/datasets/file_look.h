// What a process does that looks at a dataset file (file_check.h): it asks HDF5 all that reading
// the file asks, but for the elements.
#pragma once

#include <string>

#include "assay/datasets/checksums.h"
#include "assay/datasets/store.h"

namespace assay::h5 {

struct FileLook {
  static const ChecksumTable& checksums(const DatasetFile& file);
  // Throws as DatasetFile's constructor.
  static DatasetFile open(int fd);
  // Throws FileError where the case is refused, or something in it is damaged.
  static void look_at_case(const DatasetFile& file, const std::string& name);
};

}  // namespace assay::h5
