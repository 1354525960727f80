// Reads results of a gate and of a comparison, which wire/gate_results.h writes.
#pragma once

#include <string_view>
#include <vector>

#include "assay/judge/regate.h"

namespace assay::inline v0_2::wire {

// Reads the comparisons of a result file of schema 2, in its order. The file must have all metrics.
// Throws Refusal, which names the case and what is wrong, if the text is not such a file.
std::vector<SavedResult> read_results(std::string_view text);

}  // namespace assay::wire
