// Which vector instructions the kernels of this room use. All Highway code of assay lives here, on
// raw pointers; each kernel has a scalar oracle in the room that calls it, and gives the same bits
// on every target.
#pragma once

#include <string>
#include <vector>

namespace assay::simd {

// The target in use: "AVX3", "AVX2", "SSE4", ... (Highway's names).
std::string target_name();

// The targets this processor can run, best first.
std::vector<std::string> available_targets();

// Uses this target from now on; "" goes back to the best. Throws std::invalid_argument when the
// processor lacks it. For tests and measurements; not thread-safe.
void force_target(const std::string& name);

}  // namespace assay::simd
