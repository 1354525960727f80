// Errors with parts. The text of what() is only for people. Code that needs the name of the case or
// the reason calls name() or reason() and does not search the text.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

// An error about one test case. what() is "case NAME: REASON".
class CaseError : public std::invalid_argument {
 public:
  CaseError(std::string_view name, std::string_view reason)
      : std::invalid_argument("case " + std::string(name) + ": " + std::string(reason)),
        name_(name),
        reason_(reason) {}

  const std::string& name() const { return name_; }
  // Returns the reason without the case's name. Use it in a message that names the case elsewhere.
  const std::string& reason() const { return reason_; }

 private:
  std::string name_, reason_;
};

// Returns the reason of a CaseError, and what() of any other error. Use it in a message that names
// the case elsewhere.
inline std::string reason_of(const std::invalid_argument& error) {
  const auto* of_case = dynamic_cast<const CaseError*>(&error);
  return of_case != nullptr ? of_case->reason() : error.what();
}

}  // namespace assay
