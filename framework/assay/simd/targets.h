// The choice of the vector instructions that the kernels of this room use. All Highway code of
// assay is in this room and works on raw pointers. Each kernel has a scalar oracle in the room that
// calls it, and gives the same bits on every target.
#pragma once

#include <string>
#include <vector>

namespace assay::simd {

// The target in use: "AVX3", "AVX2", "SSE4", ... (Highway's names).
std::string target_name();

// The targets this processor can run, best first.
std::vector<std::string> available_targets();

// Uses this target from now on. "" selects the best target. Throws Refusal if the
// processor does not support it. For tests and measurements, not thread-safe.
void force_target(const std::string& name);

}  // namespace assay::simd
