// The result of a trial as JUnit and as an HTML page.
#pragma once

#include <string>

#include "assay/trial/trial.h"
#include "assay/wire/trial_results.h"

namespace assay::inline v0_2::report {

// Returns JUnit's XML: a test suite for the trial, with a test case for each promise of the
// kernel's contract. Promises that this trial cannot check are skipped test cases.
std::string trial_junit(const TrialReport& report);

// Returns one self-contained page, which needs no network (report/page.h): the outcome, each
// failure with its cause, its reduced input and what repeats it, then what was tried and what was
// not.
std::string trial_html(const TrialReport& report, const wire::TrialHead& head);

}  // namespace assay::report
