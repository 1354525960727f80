// Tells if an emulator runs the tests, as the preset of 64-bit ARM says (docs/hosts.md). QEMU
// limits no memory, traces no calls, and has no subreapers.
#pragma once

#include <cstdlib>
#include <string_view>

#include "assay/base/sanitized.h"

namespace assay {

inline bool is_emulated() {
  const char* told = std::getenv("ASSAY_EMULATED");
  return told != nullptr && std::string_view(told) == "1";
}

// True if tests are to do only a share of their work, because sanitized and emulated programs take
// ten times as long or longer.
inline bool walks_a_share() { return kAddressSanitizer || is_emulated(); }

}  // namespace assay
