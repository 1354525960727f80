// Explains recorded reductions: finds the orders of adding that give every bit.
#pragma once

#include "assay/identify/identify.h"

namespace assay::inline v0_2::identify {

// Explains a reduce_sum or reduce_mean. First tries the vector unit of every machine with every
// order that the operator has, in the input's format and widened to float32. Then tries the trees
// of kernels. `finding` names the output. Returns it with the result.
Finding identify_reduction(const Case& test_case, Finding finding, int threads);

}  // namespace assay::identify
