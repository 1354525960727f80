#include "assay/datasets/checks/file_error.h"

#include "assay/base/printable.h"

namespace assay::inline v0_2 {

FileError::FileError(const std::string& file, const std::string& object, const std::string& reason)
    : std::runtime_error(
          printable(file + ": " + (object.empty() ? reason : object + ": " + reason))) {}

}  // namespace assay
