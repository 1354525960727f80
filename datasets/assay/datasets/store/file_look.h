// The work of a process that checks a dataset file (checks/file_check.h). It makes HDF5 read
// everything that reading the file needs, except the elements.
#pragma once

#include <string>

#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay::inline v0_2 {

// If the process was started to check a file, checks it and ends the process. Otherwise returns at
// once. Must be called before the program opens files, starts threads, or prints.
void serve_file_checks(int argc, char** argv);

namespace h5 {

struct FileLook {
  static const ChecksumTable& checksums(const DatasetFile& file);
  // Opens a dataset file by its descriptor. Throws FileError in the same situations as the
  // constructor of DatasetFile.
  static DatasetFile open(int fd);
  // Checks a case. Throws FileError if the case is refused, or if something in it is damaged.
  static void look_at_case(const DatasetFile& file, const std::string& name);
};

}  // namespace h5
}  // namespace assay
