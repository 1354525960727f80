// The list of known failures that people write (docs/gate.md).
#pragma once

#include <string>
#include <vector>

#include "assay/gate/known_failures.h"

namespace assay::inline v0_2::wire {

// Reads the list. Throws Refusal that names the place and what is wrong there, and
// std::runtime_error if the file cannot be read.
std::vector<KnownFailure> read_known_failures(const std::string& path);

}  // namespace assay::wire
