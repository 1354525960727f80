// The choice of the vector instructions that the kernels of this room use. All Highway code of
// assay is in this room and works on raw pointers. Each kernel has a scalar oracle in the room that
// calls it, and gives the same bits on every target.
#pragma once

#include <string>
#include <vector>

namespace assay::inline v0_2::simd {

// Returns the target in use, by Highway's name: "AVX3", "AVX2", "SSE4", ...
std::string target_name();

// Returns the targets that this processor can run, best first.
std::vector<std::string> available_targets();

// Selects the target for all following calls of kernels. "" selects the best target. Throws Refusal
// if the processor does not support it. This is for tests and measurements, and not thread-safe.
void force_target(const std::string& name);

}  // namespace assay::simd
