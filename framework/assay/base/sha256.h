// SHA-256 (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

namespace assay::inline v0_2 {

// Returns the hash of a text in 64 lower-case hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace assay
