#include "assay/report/escape.h"

#include "assay/base/printable.h"

namespace assay::inline v0_2::report {
std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (c == '\'')
      out += "&#39;";
    else
      out += c;
  }
  return out;
}

}  // namespace assay::report
