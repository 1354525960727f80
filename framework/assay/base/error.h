// Errors with parts. The text of what() is for people alone: whoever needs the name of the case or
// the reason asks for it and searches no text.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

// Something about one test case that cannot be done. what() is "case NAME: REASON".
class CaseError : public std::invalid_argument {
 public:
  CaseError(std::string_view name, std::string_view reason)
      : std::invalid_argument("case " + std::string(name) + ": " + std::string(reason)),
        name_(name),
        reason_(reason) {}

  const std::string& name() const { return name_; }
  // Without the case's name, for a message that names the case elsewhere.
  const std::string& reason() const { return reason_; }

 private:
  std::string name_, reason_;
};

// The words of `error` for a message that names the case elsewhere: a CaseError's reason, else
// what().
inline std::string reason_of(const std::invalid_argument& error) {
  const auto* of_case = dynamic_cast<const CaseError*>(&error);
  return of_case != nullptr ? of_case->reason() : error.what();
}

}  // namespace assay
