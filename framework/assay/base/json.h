// Reads and writes JSON. Every message of a reader names the place and what is wrong there.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::json {

using Json = nlohmann::ordered_json;
// JSON objects whose keys are sorted by name, for many thousands of keys. Searching those of Json,
// which keep their order, would be slow.
using SortedJson = nlohmann::json;

// Returns the number as JSON. JSON has neither NaN nor infinity, so they become the strings "nan",
// "inf" and "-inf".
Json number(double value);
// Returns the value of one of the strings "nan", "inf" and "-inf", or nothing for all other JSON.
std::optional<double> special_number(const Json& value);

// Return the member of an object, which becomes an empty object or an empty array if it is not
// there. `parent[key][name]` would end the program if there is no memory for the new object,
// because of a mistake in nlohmann-json 3.11.2.
Json& object_in(Json& parent, const std::string& key);
Json& array_in(Json& parent, const std::string& key);

// Returns a list of what `make` returns for each row.
template <typename Rows, typename Make>
Json list_json(const Rows& rows, const Make& make) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(make(row));
  return list;
}

// Returns the text with a line end. An `indent` of -1 writes one line. Bytes that are not UTF-8,
// which a file's name may have, are replaced, and characters that cannot be printed are escaped.
std::string dumped(const Json& json, int indent);

// Build the text of an object whose last key is a list with one line for each entry.
// begin_of_list() returns the text of `head` and the key up to the bracket, and line_of_list() that
// of one entry. kEndOfList ends the object.
std::string begin_of_list(Json head, const char* key);
std::string line_of_list(const Json& entry, bool is_first);
inline constexpr std::string_view kEndOfList = "\n  ]\n}\n";

// Throws Refusal: "own.json: standard 'x': float16: WHAT". The second form formats what is wrong.
[[noreturn]] void wrong(const std::string& where, const std::string& what);
template <typename First, typename... T>
[[noreturn]] void wrong(const std::string& where, fmt::format_string<First, T...> text,
                        First&& first, T&&... values) {
  wrong(where, fmt::format(text, std::forward<First>(first), std::forward<T>(values)...));
}

// Selects if texts may hold control characters. Files that people write need no control characters.
// Files that assay wrote hold the names that were in its inputs.
enum class Controls : std::uint8_t { kRefused, kAllowed };

Json parse_json(const std::string& text, const std::string& source,
                Controls controls = Controls::kRefused);

// The functions below throw as wrong() does if the JSON is not an object, has an unknown key ("did
// you mean"), or a value has another type or range. If a key is missing, they return "" or nothing.
void check_keys(const Json& object, const std::vector<std::string>& known,
                const std::string& where);
std::string text_of(const Json& object, const char* key, const std::string& where);
// True if a value is a whole number within int64. For 2^63, get() would return a negative number.
bool is_int64(const Json& value);
std::optional<double> number_of(const Json& object, const char* key, const std::string& where,
                                double most = INFINITY);
std::optional<std::int64_t> count_of(const Json& object, const char* key, const std::string& where);
// Returns the list of a key. Throws "WHERE: 'KEY' must be WANTED" if the key is missing or its
// value is not a list.
const Json& list_in(const Json& object, const char* key, const std::string& where,
                    std::string_view wanted = "a list");

}  // namespace assay::json
