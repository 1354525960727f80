// Keeps the failures of a trial as files.
#pragma once

#include <string>
#include <vector>

#include "assay/trial/trial.h"

namespace assay::inline v0_2::tools {

// Throws FileError if the folder exists and is not empty.
void check_keep_folder(const std::string& folder);

// Writes two files for each failure to the folder, which is made if it is not there: a dataset file
// with the reduced case, its golden result and the kernel's output, and a test for GoogleTest.
// Returns the paths.
std::vector<std::string> keep_failures(const TrialReport& report, const std::string& folder);

// Returns the test's source text. It compiles as it is, and its kernel is to be replaced.
std::string test_source(const TrialReport& report, const TrialFailure& failure);

}  // namespace assay::tools
