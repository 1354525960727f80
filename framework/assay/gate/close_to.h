// The parts that the matcher CloseTo and Python's assert_close share: tolerances from the
// environment, and the words that describe what was asked for.
#pragma once

#include <string>
#include <string_view>

#include "assay/gate/request.h"

namespace assay::inline v0_2 {

// Tolerances from the environment, which replace those of the program. They allow trying other ones
// without a build or an edit. The variables are ASSAY_STANDARD (names joined by commas),
// ASSAY_RTOL, ASSAY_ATOL and ASSAY_EQUAL_NAN (0 or 1). The replacement is reported on standard
// error, once per program, and in the text of every check that it affects. Throws
// Refusal, which names the variable, if a value is not valid.
struct EnvironmentOverride {
  BoundRequest request;
  std::string text;  // "ASSAY_RTOL=0.1, ASSAY_ATOL=0", or empty if no variable is set

  static EnvironmentOverride read();
};

// Replaces the parts of a request that the environment sets. Returns EnvironmentOverride::text.
std::string override_by_environment(BoundRequest& request);
// Reports the override on standard error, once per program. Prints nothing if `text` is empty.
void say_override(const std::string& text);
// Returns the line that ends an explanation if the environment replaced something. Otherwise
// returns an empty string.
std::string override_line(const std::string& text);

// Returns a description of a request, such as "is close to the float32 reference of shape [3]
// (standard torch)".
// - `what` names the thing that the output is compared with.
// - `of_case` is true if it is a case, which has a bound of its own.
// - `overridden` is the text of the environment's override, which `request` already includes.
// - `negated` gives "is not close to".
std::string closeness_text(const BoundRequest& request, std::string_view what, bool of_case,
                           const std::string& overridden, bool negated);

// Returns "passes", "fails", "cannot be trusted" or "cannot be compared".
std::string_view outcome_verb(Outcome outcome);

}  // namespace assay
