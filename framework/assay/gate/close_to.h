// What CloseTo of the matchers and assert_close of Python have in common: what the environment
// replaces, and the words in which they say what was asked for.
#pragma once

#include <string>
#include <string_view>

#include "assay/gate/gate.h"

namespace assay {

// The environment may replace tolerances, to try another one without a build or an edit:
// ASSAY_STANDARD (names joined by commas), ASSAY_RTOL, ASSAY_ATOL, ASSAY_EQUAL_NAN (0 or 1). What
// is replaced is said on standard error, once a program, and in the words of every check that it
// concerns. Throws std::invalid_argument that names the variable where its value is none.
struct EnvironmentOverride {
  BoundRequest request;
  std::string text;  // "ASSAY_RTOL=0.1, ASSAY_ATOL=0"; empty where nothing is set

  static EnvironmentOverride read();
};

// Puts what the environment says over a request; gives EnvironmentOverride::text.
std::string override_by_environment(BoundRequest& request);
// Says on standard error, once a program, that it did; nothing where `text` is empty.
void say_override(const std::string& text);
// The line that ends an explanation where the environment had its say; else empty.
std::string override_line(const std::string& text);

// "is close to the float32 reference of shape [3] (standard torch)": of `what`, which is a case
// with a bound of its own or not, as `request` asks for it after the environment's `overridden`.
std::string closeness_text(const BoundRequest& request, std::string_view what, bool of_case,
                           const std::string& overridden, bool negated);

// "passes", "fails", "cannot be trusted", "cannot be compared".
std::string_view outcome_verb(Outcome outcome);

}  // namespace assay
