// add, sub, mul, div: a and b; fma: a * b + c; axpy: a * x + y. Operands of one float dtype and one
// shape; a scalar (rank 0) goes with any shape, nothing else broadcasts.
#pragma once

#include "assay/op/operator.h"

namespace assay {

Tensor run_add(const Call& call);
Tensor run_sub(const Call& call);
Tensor run_mul(const Call& call);
Tensor run_div(const Call& call);
Tensor run_fma(const Call& call);
Tensor run_axpy(const Call& call);

// Half an ulp of the output for one rounding in the output's format, and what follows from the
// operands' own sizes for a product that is rounded before it is added to. Without overflow.
DerivedTolerance elementwise_tolerance(const Case& test_case);

}  // namespace assay
