// The operators add, sub, mul and div (a and b), fma (a * b + c) and axpy (a * x + y). Operands
// have one float dtype and one shape. A scalar (rank 0) goes with any shape. There is no other
// broadcasting.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns these operators. The tolerance is half an ulp of the output if there is one rounding in
// the output's format. If a product is rounded before it is added to, the tolerance follows from
// the sizes of the operands. Tolerances hold without overflow.
std::vector<Operator> elementwise_operators();

}  // namespace assay
