// Says in words what is wrong with a kernel: what it ignores, what it computes instead, and from
// which size on.
#pragma once

#include <string>
#include <vector>

#include "assay/trial/examine.h"

namespace assay::inline v0_2::trial {

// Calls the kernel on an input, and returns the output. Returns an empty tensor if the call does
// not end with an output.
Tensor output_of(const TrialKernel& kernel, const FloatEnvironment& environment,
                 const TrialContract& contract, const Subject& subject);

// Returns sentences on the cause of a finding. `failing` is the input that was drawn, and `reduced`
// the smallest one that fails, if `is_minimal` is true.
//
// - Inputs, or parts of them, that have no influence on the output although the exact result
//   depends on them: "elements 1 024 and later of dimension 1 of x have no influence on the output"
// - another value of a parameter for which the output is right: "the output is right for axis=0"
// - the sizes of the smallest input that fails: "the smallest input that fails has dimension 1 of
//   x = 1 025"
std::vector<std::string> diagnose(const TrialKernel& kernel, const TrialContract& contract,
                                  const GateRequest& request, const FloatEnvironment& environment,
                                  TrialFinding finding, const Subject& failing,
                                  const Subject& reduced, bool is_minimal);

}  // namespace assay::trial
