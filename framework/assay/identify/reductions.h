// Recorded reductions: which order of adding gives every bit.
#pragma once

#include <string>

#include "assay/identify/identify.h"

namespace assay::identify {

// Of a reduce_sum: every machine's vector unit with every order that the operator has, in the
// input's format and widened to float32.
Finding identify_reduction(const Case& test_case, const std::string& producer, int threads);

}  // namespace assay::identify
