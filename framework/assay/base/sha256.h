// SHA-256 (FIPS 180-4): names that other tools make of it.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Of a text that is in memory, in 64 lower-case hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace assay
