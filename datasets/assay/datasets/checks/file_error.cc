#include "assay/datasets/checks/file_error.h"

#include "assay/base/printable.h"

namespace assay {
namespace {

std::string file_error_text(const std::string& file, const std::string& object,
                            const std::string& reason) {
  return printable(file + ": " + (object.empty() ? reason : object + ": " + reason));
}

}  // namespace

FileError::FileError(const std::string& file, const std::string& object, const std::string& reason)
    : std::runtime_error(file_error_text(file, object, reason)) {}

}  // namespace assay
