// Errors in files from outside.
#pragma once

#include <stdexcept>
#include <string>

namespace assay::inline v0_2 {

// A file cannot be read or written. The message names the file, the object and the reason.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& file, const std::string& object, const std::string& reason);
};

// The file is valid, but holds no case, or no requested case.
class NoCaseError : public FileError {
 public:
  using FileError::FileError;
};

}  // namespace assay
