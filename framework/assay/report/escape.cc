#include "assay/report/escape.h"

#include "assay/base/text.h"

namespace assay::report {
namespace {

// Bytes of the UTF-8 character at the front of `text`; 0 where there is none that XML can hold.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  unsigned code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr unsigned kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool noncharacter = (code & 0xfffe) == 0xfffe;
  return code < kShortest[length] || code > 0x10ffff || surrogate || noncharacter ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text.front();
    if (length > 1)
      out += text.substr(0, length);
    else
      out += length == 1 && (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') ? c
                                                                                              : '?';
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
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
