// The golden softmax, layernorm and rmsnorm: in long double, with sums that carry their rounding
// errors along.
#pragma once

#include "assay/op/norm_case.h"

namespace assay {

// In the call's output format.
Tensor norm_reference(const ReferenceCall& call, NormKind kind);

}  // namespace assay
