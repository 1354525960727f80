// Results of trials as JSON of the schema "assay-trial-1" (docs/json.md).
#pragma once

#include <string>

#include "assay/trial/trial.h"

namespace assay::inline v0_2::wire {

inline constexpr const char* kTrialSchema = "assay-trial-1";

// The command of a trial and the program that ran it, for its report.
struct TrialHead {
  std::string command, version;
};

// Returns the whole report as JSON, with its failures.
std::string trial_json(const TrialReport& report, const TrialHead& head);

// Reads what trial_json() wrote. Failures have their reduced inputs and the kernel's outputs, but
// neither golden results nor verdicts, which judge_again() computes. Throws Refusal, which names
// the source and the place in it, if the text is not such a file.
TrialReport parse_trial_results(const std::string& text, const std::string& source);
// Reads a file. Throws std::runtime_error if it cannot be read.
TrialReport read_trial_results(const std::string& path);

}  // namespace assay::wire
