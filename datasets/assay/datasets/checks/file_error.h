// What is wrong with a file from outside.
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

// A file that cannot be read or written; the message names file, object and reason.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& file, const std::string& object, const std::string& reason);
};

// The file is fine, but it holds no case, or none that was asked for.
class NoCaseError : public FileError {
 public:
  using FileError::FileError;
};

}  // namespace assay
