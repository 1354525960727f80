// Looks up rows of tables and words from a caller, and formats the message for unknown words.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/text.h"

namespace assay::inline v0_2 {

// Returns ": did you mean 'float16'?" if a known word is near enough for `word` to be a typing
// error (nearest_word() in base/text.h). Returns an empty string otherwise.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);
// Returns the text of did_you_mean() for use within a sentence: " (did you mean 'float16'?)".
std::string did_you_mean_aside(std::string_view word, std::span<const std::string> known);

// Returns the message for an unknown word: "unknown machine 'hoper': did you mean 'hopper'?; known:
// exact, ascend910b, hopper".
std::string unknown_word(std::string_view kind, std::string_view word,
                         std::span<const std::string> known);

// A row of a table of words: the word, and the value that it stands for.
template <typename Value>
struct Word {
  std::string_view name;
  Value value;
};

// Returns a member of each row of a table, in order.
template <typename Rows, typename Member>
std::vector<std::string> names_of(const Rows& rows, Member member) {
  std::vector<std::string> names;
  for (const auto& row : rows) names.emplace_back(std::invoke(member, row));
  return names;
}
// Returns the names of a table's rows, in order.
template <typename Rows>
std::vector<std::string> names_of(const Rows& rows) {
  return names_of(rows, [](const auto& row) { return row.name; });
}

// Returns true if `value` is one of `values`.
template <typename Values, typename Value>
bool contains(const Values& values, const Value& value) {
  return std::ranges::find(values, value) != std::ranges::end(values);
}

// Returns the names of the rows in which `member` is set: names_with(operators(),
// &Operator::generate).
template <typename Rows, typename Member>
std::vector<std::string> names_with(const Rows& rows, Member member) {
  std::vector<std::string> names;
  for (const auto& row : rows) {
    if (row.*member) names.emplace_back(row.name);
  }
  return names;
}

// Returns the keys of a map, in order.
template <typename Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Returns the first row whose member has this value, as in find_row(rows, "exact", &Row::name).
// Returns null if no row has it.
template <typename Rows, typename Value, typename Member>
auto find_row(Rows&& rows, const Value& value, Member member) {
  const auto found = std::ranges::find(rows, value, member);
  return found == std::ranges::end(rows) ? nullptr : &*found;
}

// Returns the row with that name. Throws Refusal with unknown_word() if no row has
// it.
template <typename Rows>
const auto& row_named(std::string_view kind, const Rows& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  refuse(unknown_word(kind, name, names_of(rows)));
}

}  // namespace assay
