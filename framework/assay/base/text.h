// Formatting of messages. Only this header includes fmt.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/error.h"

namespace assay::inline v0_2 {

// fmt::format under another name. Arguments of standard library types would also find std::format,
// if the library has it.
template <typename... T>
std::string formatted(fmt::format_string<T...> text, T&&... values) {
  return fmt::format(text, std::forward<T>(values)...);
}

// Throws Refusal. The first form formats the reason.
template <typename First, typename... T>
[[noreturn]] void refuse(fmt::format_string<First, T...> text, First&& first, T&&... values) {
  throw Refusal(fmt::format(text, std::forward<First>(first), std::forward<T>(values)...));
}
[[noreturn]] inline void refuse(const std::string& reason) { throw Refusal(reason); }
// Calls `function`. If it throws Refusal, throws one whose message begins with the place: "PLACE:
// MESSAGE".
template <typename Function>
auto at_place(const std::string& place, const Function& function) {
  try {
    return function();
  } catch (const Refusal& e) {
    refuse("{}: {}", place, e.what());
  }
}
// Throws CaseError for the case of this name.
template <typename First, typename... T>
[[noreturn]] void refuse_case(const std::string& name, fmt::format_string<First, T...> text,
                              First&& first, T&&... values) {
  throw CaseError(name, fmt::format(text, std::forward<First>(first), std::forward<T>(values)...));
}
[[noreturn]] inline void refuse_case(const std::string& name, const std::string& reason) {
  throw CaseError(name, reason);
}

// Returns a number in groups of three digits, as the failure text prints counts: "1 032".
std::string grouped(std::int64_t count);
// Returns the digits of a whole number, which std::to_string() gives, in groups of three.
std::string grouped(std::string digits);
// Returns a number of things: "1 case", "1 032 cases".
std::string counted(std::int64_t count, std::string_view noun);

// Returns a shape as text, "[64, 512]". A scalar's shape is "[]".
std::string shape_text(std::span<const std::int64_t> shape);

// Returns the shortest decimal number that reads back as the same float64, or "nan", "inf" or
// "-inf".
std::string number_text(double value);
// Returns the text without `prefix`, if it begins with it.
std::string_view without_prefix(std::string_view text, std::string_view prefix);

// Returns a short decimal number for tables, with `digits` significant digits.
std::string short_number(double value, int digits = 3);

// Returns a share of a whole, "1.6 %". Never returns "100.0 %" for less than all, or "0 %" for more
// than none.
std::string percent_text(std::int64_t part, std::int64_t whole);

// Joins the parts with a separator. Returns "(none)" for an empty list.
std::string joined(std::span<const std::string> parts, std::string_view separator = ", ");

// Returns lines of cells in columns that are as wide as their widest cell, two blanks apart. The
// last column is not padded, and no line ends in a blank. Cells are made printable
// (base/printable.h).
std::string columns_text(std::span<const std::vector<std::string>> rows);

// Returns a cell of a CSV table (RFC 4180), in quotes if necessary. Its text is unchanged.
std::string csv_cell(std::string_view text);

// Returns the candidate nearest to `word`, if it is near enough for `word` to be a typing error.
// Returns an empty string otherwise. The distance is the edit distance, in which an exchange of
// neighbours is one edit. For messages like "unknown ...: did you mean ...?".
std::string nearest_word(std::string_view word, std::span<const std::string> candidates);

// Splits at each `separator`. Empty parts are left out.
std::vector<std::string> split(std::string_view text, char separator);

// True if the text matches a shell-style pattern: '*' (any text, including '/'), '?' (one
// character), '[12]' and '[a-c]' (one of these characters), and '[!x]' (any other character). A '['
// without its end matches itself.
bool glob_match(std::string_view pattern, std::string_view text);
// Returns the pattern that matches only this text.
std::string exact_glob(std::string_view text);

// The natural order, in which runs of digits compare as numbers: "layer7" is before "layer107".
bool natural_less(std::string_view a, std::string_view b);

// Quotes a word for a POSIX shell if necessary, so that a reproducer line can be pasted. A word
// that cannot be printed as it is gets escapes, as in $'a\033b'.
std::string shell_word(std::string_view word);

// Splits a line into words as a POSIX shell does: by blanks, quotes, backslashes and the $'...' of
// shell_word(). Expands nothing. A word that begins with '#' ends the line. Throws
// Refusal if a quote is not closed.
std::vector<std::string> shell_words(std::string_view line);

}  // namespace assay
