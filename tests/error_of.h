// Functions that return the message of an error, if a caller made a mistake or something outside
// went wrong.
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

// Returns the message of the Refusal that the call throws, or "no error".
template <typename Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

// Returns the message of the std::runtime_error that the call throws, or "no error".
template <typename Call>
std::string failure_of(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace assay
