// Errors with parts. The text of what() is only for people. Code that needs the name of the case or
// the reason calls name() or reason() and does not search the text.
#pragma once

#include <stdexcept>
#include <string>

namespace assay::inline v0_2 {

// A given value is refused: a case, an argument or a request, which the user can fix. what() is
// the reason. All other exceptions mean a mistake in the program, and no verdict hides them.
// base/text.h has refuse(), which formats the reason.
class Refusal : public std::invalid_argument {
 public:
  explicit Refusal(const std::string& reason) : Refusal(reason, reason) {}

  // Returns the reason without the case's name. Use it in a message that names the case elsewhere.
  const std::string& reason() const { return reason_; }

 protected:
  Refusal(const std::string& what, std::string reason)
      : std::invalid_argument(what), reason_(std::move(reason)) {}

 private:
  std::string reason_;
};

// A refusal of one case. what() is "case NAME: REASON".
class CaseError : public Refusal {
 public:
  CaseError(std::string name, const std::string& reason)
      : Refusal("case " + name + ": " + reason, reason), name_(std::move(name)) {}

  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

}  // namespace assay
