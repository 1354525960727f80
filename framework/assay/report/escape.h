// Text inside XML, HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

// Returns the text with the five special characters as entities, and with all that cannot be
// printed as an escape, such as \x1b (base/printable.h): XML 1.0 holds no control characters.
std::string xml_escaped(std::string_view text);

}  // namespace assay::report
