// Recorded reductions: which order of adding gives every bit.
#pragma once

#include "assay/identify/identify.h"

namespace assay::identify {

// Of a reduce_sum or reduce_mean: every machine's vector unit with every order that the operator
// has, in the input's format and widened to float32; then the trees of kernels. `finding` names the
// output, and comes back with what was found.
Finding identify_reduction(const Case& test_case, Finding finding, int threads);

}  // namespace assay::identify
