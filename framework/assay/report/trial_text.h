// The result of a trial as text, for a terminal and for the message of a matcher.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "assay/trial/trial.h"

namespace assay::inline v0_2 {

// The place that shows the text. It decides how the text says to repeat a failure.
enum class TrialDoor : std::uint8_t { kMatcher, kCommandLine, kPython };

// Returns the functions of PassesTrial() that give the options which decide the verdict, each after
// `separator`.
std::string matcher_options(const TrialReport& report, std::string_view separator);

// Returns the outcome in one sentence, and for each failure its cause, the drawn and the reduced
// input, and what repeats it.
std::string trial_text(const TrialReport& report, TrialDoor door);

// Returns a table of what was tried and what was not.
std::string trial_coverage_text(const TrialReport& report);

}  // namespace assay
