// Text inside XML, HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace assay::inline v0_2::report {

// Returns the text with the five special characters as entities. Characters that cannot be printed
// become an escape, such as \x1b (base/printable.h), because XML 1.0 holds no control characters.
std::string xml_escaped(std::string_view text);

}  // namespace assay::report
