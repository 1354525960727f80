#include "assay/datasets/utf8.h"

#include <cstddef>
#include <cstdint>

#include "assay/base/text.h"

namespace assay::h5 {

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80   ? 1
                               : first < 0xC2 ? 0
                               : first < 0xE0 ? 2
                               : first < 0xF0 ? 3
                               : first < 0xF5 ? 4
                                              : 0;
    if (length == 0 || length > text.size() - i) return false;
    std::uint32_t code = length == 1 ? first : first & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      code = code << 6 | (next & 0x3Fu);
    }
    // Overlong forms, surrogates and what lies beyond Unicode.
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10FFFF)) ||
        (code >= 0xD800 && code < 0xE000)) {
      return false;
    }
    i += length;
  }
  return true;
}

}  // namespace assay::h5

namespace assay {

std::string printable(const std::string& text, bool lines) {
  const bool valid = h5::is_utf8(text);
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && !(lines && c == '\n')) || byte == 0x7F || (byte >= 0x80 && !valid)) {
      result += formatted("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace assay
