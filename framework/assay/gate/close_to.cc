#include "assay/gate/close_to.h"

#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Returns the value of an environment variable, or an empty string if it is not set or is empty. If
// it has a value, adds NAME=VALUE to `text`.
std::string variable(const char* name, std::string& text) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return "";
  text += formatted("{}{}={}", text.empty() ? "" : ", ", name, value);
  return value;
}

std::optional<double> tolerance_variable(const char* name, std::string& text) {
  const std::string value = variable(name, text);
  if (value.empty()) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (*end != '\0' || !(number >= 0)) {
    refuse("the environment's {}='{}' must be a number of at least 0", name, value);
  }
  return number;
}

}  // namespace

EnvironmentOverride EnvironmentOverride::read() {
  const FloatEnvironment environment;
  EnvironmentOverride found;
  found.request.standards = standard_words(variable("ASSAY_STANDARD", found.text));
  found.request.rtol = tolerance_variable("ASSAY_RTOL", found.text);
  found.request.atol = tolerance_variable("ASSAY_ATOL", found.text);
  if (const std::string flag = variable("ASSAY_EQUAL_NAN", found.text); !flag.empty()) {
    if (flag != "0" && flag != "1") {
      refuse("the environment's ASSAY_EQUAL_NAN='{}' must be 0 or 1", flag);
    }
    found.request.equal_nan = flag == "1";
  }
  return found;
}

std::string override_by_environment(BoundRequest& request) {
  const EnvironmentOverride environment = EnvironmentOverride::read();
  if (environment.text.empty()) return "";
  const BoundRequest& over = environment.request;
  if (!over.standards.empty()) {
    // A standard of the environment also replaces the tolerances that the program gave with its own
    // standard.
    request.standards = over.standards;
    request.rtol = request.atol = std::nullopt;
  }
  if (over.rtol || over.atol) {
    request.rtol = over.rtol;
    request.atol = over.atol;
  }
  if (over.equal_nan) request.equal_nan = over.equal_nan;
  request.origin = "environment";
  return environment.text;
}

void say_override(const std::string& text) {
  if (text.empty()) return;
  // A test that passes prints nothing, so the override is reported separately.
  static std::once_flag once;
  std::call_once(once, [&] {
    std::fprintf(stderr, "[ assay    ] the environment overrides tolerances: %s\n", text.c_str());
  });
}

std::string override_line(const std::string& text) {
  return text.empty() ? "" : "\noverridden by the environment: " + text;
}

std::string closeness_text(const BoundRequest& request, std::string_view what, bool of_case,
                           const std::string& overridden, bool negated) {
  std::string bound;
  for (const std::string& s : request.standards) {
    bound += (bound.empty() ? "" : " and ") +
             (s == "bit_equal" ? std::string("bit equality") : "standard " + s);
  }
  if (request.rtol || request.atol) {
    bound += formatted("{}rtol {}, atol {}", bound.empty() ? "" : ", ", request.rtol.value_or(0),
                       request.atol.value_or(0));
  }
  if (request.equal_nan) {
    bound += formatted("{}NaN {} NaN", bound.empty() ? "" : ", ",
                       *request.equal_nan ? "equal to" : "unequal to");
  }
  if (bound.empty()) {
    bound = of_case ? "the case's bound" : formatted("standard {}", kDefaultStandard);
  }
  if (!overridden.empty()) bound += "; overridden by the environment: " + overridden;
  return formatted("is {}close to {} ({})", negated ? "not " : "", what, bound);
}

std::string_view outcome_verb(Outcome outcome) {
  constexpr std::string_view kWords[] = {"passes", "fails", "cannot be trusted",
                                         "cannot be compared"};
  return kWords[static_cast<std::size_t>(outcome)];
}

}  // namespace assay
