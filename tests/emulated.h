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

// True if tests are to do only a share of their work. This is so in sanitized and emulated
// programs, which take ten times as long or longer. It is also so if the environment variable CI is
// not set, so that who changes a line soon knows if it is right.
inline bool walks_a_share() {
  return kAddressSanitizer || is_emulated() || std::getenv("CI") == nullptr;
}

}  // namespace assay
