// What chance makes of the errors of softmax, layernorm and rmsnorm: each step's rounding, carried
// to the result to first order.
#pragma once

#include "assay/op/expected_error.h"
#include "assay/op/norm_case.h"

namespace assay {

ExpectedErrors norm_errors(const Case& test_case, const Machine& machine, NormKind kind);

}  // namespace assay
