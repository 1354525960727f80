// Functions that call something and return the message of the error that it throws, which is the
// caller's mistake (error_of) or a failure from outside (failure_of).
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

// Returns the message of the std::invalid_argument, such as a Refusal, that the call throws, or "no
// error".
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
