// A hash for names, fingerprints and checks of files. It is not cryptographically secure.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::inline v0_2 {

inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325;

// FNV-1a of 64 bits (Fowler, Noll, Vo; RFC 9923). To hash a text in parts, pass the hash of the
// earlier parts as the start of the next.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t start = kFnvStart) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace assay
