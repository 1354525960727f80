// Formatting of messages. The only place that includes fmt.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay {

// fmt::format, by a name of its own: arguments of the standard library bring std::format beside
// any other `format`, where the library has one.
template <typename... T>
std::string formatted(fmt::format_string<T...> text, T&&... values) {
  return fmt::format(text, std::forward<T>(values)...);
}

// "1032" -> "1 032": groups of three, as the failure text prints counts.
std::string grouped(std::int64_t count);
std::string grouped(std::string digits);  // a whole number's, as std::to_string() gives them

// "[64, 512]"; a scalar's shape is "[]".
std::string shape_text(std::span<const std::int64_t> shape);

// The shortest decimal that reads back as the same float64; "nan", "inf", "-inf" for specials.
std::string number_text(double value);
// The text without what it begins with, where it does.
std::string_view without_prefix(std::string_view text, std::string_view prefix);

// A short decimal for tables: `digits` significant digits.
std::string short_number(double value, int digits = 3);

// "1.6 %" of a whole; never "100.0 %" or "0 %" of what is not all or none.
std::string percent_text(std::int64_t part, std::int64_t whole);

// Joins with a separator; "(none)" for an empty list.
std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");

// Lines of cells in columns as wide as their widest cell, two blanks apart; the last column is not
// padded, and no line ends in a blank. Cells are made printable (base/printable.h).
std::string columns_text(std::span<const std::vector<std::string>> rows);

// A cell of a CSV table (RFC 4180): in quotes where it needs them. Its text is kept as it is.
std::string csv_cell(std::string_view text);

// The candidate nearest to `word` by edit distance, in which neighbours exchanged are one edit,
// when it is near enough to be a typing slip, else "" -- for "unknown ...: did you mean ...?".
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// Splits at each `separator`; empty parts are dropped.
std::vector<std::string> split(std::string_view text, char separator);

// Shell-style match with '*' (any run, '/' too), '?' (one character) and '[12]', '[a-c]', '[!x]'
// (one of those, or none of them); a '[' that is not closed stands for itself.
bool glob_match(std::string_view pattern, std::string_view text);
// The pattern that matches this text alone.
std::string exact_glob(std::string_view text);

// The order in which people count: "layer7" before "layer107"; runs of digits compare as numbers.
bool natural_less(std::string_view a, std::string_view b);

// Quotes a word for a POSIX shell where it needs it, so that a reproducer line can be pasted. A
// word that cannot be printed as it is is written with escapes, as in $'a\033b'.
std::string shell_word(std::string_view word);

// The words of a line as a POSIX shell splits it, by blanks, quotes, backslashes and the $'...' of
// shell_word(); nothing is expanded. A word that begins with '#' ends the line. Throws
// std::invalid_argument where a quote is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace assay
