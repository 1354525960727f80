// Bytes that may be text.
#pragma once

#include <string>
#include <string_view>

namespace assay::h5 {

bool is_utf8(std::string_view text);

}  // namespace assay::h5

namespace assay {

// Control characters and broken UTF-8, which a hostile name may hold, as \xNN. `lines`: but for the
// ends of lines.
std::string printable(const std::string& text, bool lines = false);

}  // namespace assay
