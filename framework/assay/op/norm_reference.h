// The golden softmax, layernorm and rmsnorm, rounded once from more than a hundred bits:
// double-double arithmetic, or binary128 for rows of very large or small numbers. The same bits on
// every processor.
#pragma once

#include "assay/op/norm_case.h"

namespace assay::inline v0_2 {

// Returns the result in the call's output format.
Tensor norm_reference(const ReferenceCall& call, NormKind kind);

}  // namespace assay
