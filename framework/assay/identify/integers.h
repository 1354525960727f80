// Recorded products of integers, whose int32 sums are exact: all that can differ is what happens to
// a sum that int32 does not hold.
#pragma once

#include "assay/identify/identify.h"

namespace assay::identify {

// Whether the machines of the table sum products of the case's operands in int32.
bool sums_in_int32(const Case& test_case);

// For matmul and dot: which machines give every element. `finding` names the output, and comes back
// with what was found. Throws std::invalid_argument that names the case if no machine takes it.
Finding identify_integers(const Case& test_case, Finding finding, int threads);

}  // namespace assay::identify
