// Whether an emulator runs the tests, as the preset of 64-bit ARM says (docs/hosts.md). QEMU limits
// no memory, traces no calls, and has no subreapers.
#pragma once

#include <cstdlib>

namespace assay {

inline bool is_emulated() { return std::getenv("ASSAY_EMULATED") != nullptr; }

}  // namespace assay
