// Expected errors of softmax, layernorm and rmsnorm. The rounding of each step is carried to the
// result to first order.
#pragma once

#include "assay/op/chance_unit.h"
#include "assay/op/norm_case.h"

namespace assay::inline v0_2 {

// The result does not depend on `threads`.
ExpectedErrors norm_errors(const Case& test_case, const Machine& machine, NormKind kind,
                           int threads);

}  // namespace assay
