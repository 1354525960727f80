// Text inside XML, HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

// The five special characters as entities; what XML 1.0 cannot hold (control characters, bytes that
// are no UTF-8) as '?'.
std::string xml_escaped(std::string_view text);
// The text with what XML 1.0 cannot hold as '?'; nothing else is changed.
std::string printable(std::string_view text);

}  // namespace assay::report
