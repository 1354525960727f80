#include "assay/base/printable.h"

#include <algorithm>
#include <cstdint>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::size_t kMostInName = 200, kMostInSentence = 2000;

struct Character {
  std::size_t length = 0;  // length of its UTF-8 bytes, or 0 if the bytes are not UTF-8
  std::uint32_t code = 0;
};

// Returns the first character of a text that is not empty.
Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {1, lead};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code = lead & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr std::uint32_t kShortest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kShortest[length] || code > 0x10ffff || surrogate) return {};
  return {length, code};
}

bool is_printable(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kNot[] = {{0x00, 0x1f},     {0x7f, 0x9f},  // controls
                            {0x061c, 0x061c}, {0x200e, 0x200f},
                            {0x202a, 0x202e}, {0x2066, 0x2069},  // direction of writing
                            {0x2028, 0x2029},                    // characters that end a line
                            {0xfdd0, 0xfdef}};                   // noncharacters
  const bool listed = std::ranges::any_of(
      kNot, [&](const Range& range) { return code >= range.first && code <= range.last; });
  return !listed && (code & 0xfffe) != 0xfffe;
}

std::string escape_of(const Character& c, unsigned char byte) {
  if (c.length == 1) {
    if (c.code == '\n') return "\\n";
    if (c.code == '\r') return "\\r";
    if (c.code == '\t') return "\\t";
  }
  if (c.length < 2) return formatted("\\x{:02x}", byte);
  return c.code > 0xffff ? formatted("\\U{:08x}", c.code) : formatted("\\u{:04x}", c.code);
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    if (text[0] >= ' ' && text[0] <= '~') {  // most characters are
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const Character c = first_character(text);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    if (c.length > 0 && (is_printable(c.code) || kept.find(text[0]) != std::string_view::npos)) {
      out += text.substr(0, length);
    } else {
      out += escape_of(c, static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(length);
  }
  return out;
}

bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = first_character(text).length;
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::size_t printable_length(std::string_view text) {
  const Character c = first_character(text);
  return c.length > 0 && is_printable(c.code) ? c.length : 0;
}

std::string printable(std::string_view text) { return escaped(text, ""); }

std::string printable_lines(std::string_view text) { return escaped(text, "\n\t"); }

std::string shortened(std::string_view text, std::size_t most) {
  const auto characters = static_cast<std::size_t>(std::ranges::count_if(text, begins_character));
  if (characters <= most) return std::string(text);
  const std::size_t left = most - 40, at_end = left / 4;  // 40 for the remark
  // Returns the position in the text of the character with this number.
  const auto place = [&](std::size_t number) {
    std::size_t at = 0;
    for (++number; at < text.size(); ++at) {
      if (begins_character(text[at]) && --number == 0) break;
    }
    return at;
  };
  return formatted("{}... ({} characters more) ...{}", text.substr(0, place(left - at_end)),
                   grouped(static_cast<std::int64_t>(characters - left)),
                   text.substr(place(characters - at_end)));
}

std::string printable_name(std::string_view text) {
  return shortened(printable(text), kMostInName);
}

std::string printable_sentence(std::string_view text) {
  return shortened(printable(text), kMostInSentence);
}

std::string printable_json(std::string json) {
  const auto is_plain = [](char c) { return static_cast<unsigned char>(c) < 0x7f; };
  if (std::ranges::all_of(json, is_plain)) return json;
  std::string out;
  for (std::string_view rest = json; !rest.empty();) {
    const Character c = first_character(rest);
    const std::size_t length = std::max<std::size_t>(c.length, 1);
    // A character beyond U+FFFF would need two escapes. It is not escaped, because those that
    // cannot be printed are harmless.
    const bool escapes = c.code >= 0x7f && c.code <= 0xffff && !is_printable(c.code);
    out += escapes ? formatted("\\u{:04x}", c.code) : std::string(rest.substr(0, length));
    rest.remove_prefix(length);
  }
  return out;
}

}  // namespace assay
