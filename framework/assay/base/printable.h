// Text from a file, made safe for a terminal, a table or a report.
//
// A name in a file can contain anything. It may hold a sequence that controls the terminal, a line
// end that starts a forged line, a character that changes the direction of writing, or bytes that
// are not text. All text that is printed passes through here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay::inline v0_2 {

bool is_utf8(std::string_view text);

// Returns the number of bytes of the first character if it can be printed as it is, and 0
// otherwise. These cannot be printed: control characters, characters that change the direction of
// writing or end a line (U+202E, U+2028), noncharacters, and bytes that are not UTF-8.
std::size_t printable_length(std::string_view text);

// Returns the text on one line. Characters that cannot be printed become escapes: \n, \t, \x1b,
// \u202e. A byte that is not UTF-8 becomes \xff. Printable text is unchanged.
std::string printable(std::string_view text);

// Does the same as printable(), but keeps ends of lines and tabs.
std::string printable_lines(std::string_view text);

// Shortens a text to at most `most` characters: its beginning, the number of characters that are
// left out, and its end. `most` is at least 64.
std::string shortened(std::string_view text, std::size_t most);

// Returns a value from a file for a table cell or a message: printable, and at most 200 characters
// long.
std::string printable_name(std::string_view text);

// Returns a sentence that may contain values from a file: printable, and at most 2 000 characters
// long.
std::string printable_sentence(std::string_view text);

// Returns JSON in whose strings everything is printable. The JSON writer escapes control
// characters, and this function escapes the others. The values stay the same.
std::string printable_json(std::string json);

}  // namespace assay
