// The expected errors of attention (op/expected_errors.h).
#pragma once

#include "assay/op/chance_unit.h"

namespace assay::inline v0_2 {

// Returns the mean and variance of each element's error, float64 and of the result's shape. Throws
// Refusal if theory does not cover the case.
ExpectedErrors attention_errors(const Case& test_case, const Machine& machine, int threads);

}  // namespace assay
