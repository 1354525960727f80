// add, sub, mul, div: a and b; fma: a * b + c; axpy: a * x + y. Operands of one float dtype and one
// shape; a scalar (rank 0) goes with any shape, nothing else broadcasts.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// Their rows. Tolerance: half an ulp of the output for one rounding in the output's format, and
// what follows from the operands' own sizes for a product that is rounded before it is added to.
// Without overflow.
std::vector<Operator> elementwise_operators();

}  // namespace assay
