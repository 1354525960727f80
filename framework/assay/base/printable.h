// Text that comes from a file, made fit for a terminal, a table or a report.
//
// A name in a file can hold anything: a sequence that steers the terminal, the end of a line behind
// which another line is forged, a character that turns the direction of writing, or bytes that are
// not text at all. Whatever is printed passes through here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

bool is_utf8(std::string_view text);

// The number of bytes of the first character, if it can be printed as it is; otherwise 0. These
// cannot: control characters, characters that turn the direction of writing or end a line (U+202E,
// U+2028), noncharacters, and bytes that are not UTF-8.
std::size_t printable_length(std::string_view text);

// The text on one line. What cannot be printed becomes an escape: \n, \t, \x1b, \u202e; a byte that
// is not UTF-8 becomes \xff. Printable text stays as it is.
std::string printable(std::string_view text);

// The same, but ends of lines and tabs stay as they are.
std::string printable_lines(std::string_view text);

// At most `most` characters of a longer text: its begin, how many characters are left out, and its
// end. `most` is at least 64.
std::string shortened(std::string_view text, std::size_t most);

// A value from a file in a cell of a table or within a message: printable, and at most 200
// characters long.
std::string printable_name(std::string_view text);

// A sentence that may hold such values: printable, and at most 2 000 characters long.
std::string printable_sentence(std::string_view text);

// JSON in whose strings everything is printable: its writer escapes control characters, and this
// function escapes the others. The values are the same.
std::string printable_json(std::string json);

}  // namespace assay
