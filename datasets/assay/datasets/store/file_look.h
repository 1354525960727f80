// What a process does that looks at a dataset file (checks/file_check.h): it asks HDF5 all that
// reading the file asks, but for the elements.
#pragma once

#include <string>

#include "assay/datasets/store/checksums.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay {

// Does what a process of this program is started for to look at a file, and ends it. Comes back at
// once where the process was started for anything else. Must be called before the program opens
// files, starts threads, or prints.
void serve_file_checks(int argc, char** argv);

namespace h5 {

struct FileLook {
  static const ChecksumTable& checksums(const DatasetFile& file);
  // Throws as DatasetFile's constructor.
  static DatasetFile open(int fd);
  // Throws FileError where the case is refused, or something in it is damaged.
  static void look_at_case(const DatasetFile& file, const std::string& name);
};

}  // namespace h5
}  // namespace assay
