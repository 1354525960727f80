// Makes errors in files from texts and from other errors.
#pragma once

#include <string>
#include <utility>

#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"

namespace assay::inline v0_2 {

// Returns an error whose reason is formatted: throw file_error(path, "", "has {} bytes", size).
template <typename Error = FileError, typename First, typename... T>
Error file_error(const std::string& file, const std::string& object,
                 fmt::format_string<First, T...> reason, First&& first, T&&... values) {
  return Error(file, object,
               fmt::format(reason, std::forward<First>(first), std::forward<T>(values)...));
}

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
