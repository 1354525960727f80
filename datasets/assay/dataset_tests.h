// run_dataset_tests(), the main function of a team's dataset tests, which
// assay_add_dataset_tests() of CMake turns into one test for each case.
#pragma once

#include "assay/datasets/runner/runner.h"
