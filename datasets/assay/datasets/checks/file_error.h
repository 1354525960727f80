// Errors in files from outside.
#pragma once

#include <stdexcept>
#include <string>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay {

// A file cannot be read or written. The message names the file, the object and the reason, which
// the second form formats.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& file, const std::string& object, const std::string& reason);
  template <typename First, typename... T>
  FileError(const std::string& file, const std::string& object,
            fmt::format_string<First, T...> text, First&& first, T&&... values)
      : FileError(file, object,
                  fmt::format(text, std::forward<First>(first), std::forward<T>(values)...)) {}
};

// The file is valid, but holds no case, or no requested case.
class NoCaseError : public FileError {
 public:
  using FileError::FileError;
};

// Calls `read`. Its Refusal, such as that of a parser, becomes a FileError of this file.
template <typename Read>
auto in_file(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const Refusal& e) {
    throw FileError(file, "", e.what());
  }
}

}  // namespace assay
