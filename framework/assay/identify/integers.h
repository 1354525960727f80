// Explains recorded products of integers. Their int32 sums are exact, so results can differ only in
// what happens to a sum that int32 cannot represent.
#pragma once

#include "assay/identify/identify.h"

namespace assay::inline v0_2::identify {

// True if at least one machine of the table sums products of the case's operands in int32.
bool sums_in_int32(const Case& test_case);

// Finds the machines that give every element of a matmul or dot. `finding` names the output.
// Returns it with the result. Throws Refusal, which names the case, if no machine
// accepts it.
Finding identify_integers(const Case& test_case, Finding finding, int threads);

}  // namespace assay::identify
