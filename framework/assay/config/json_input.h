// Reading JSON that people write: every message names the place and what is wrong there.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace assay::config {

using Json = nlohmann::ordered_json;

// Throws std::invalid_argument: "own.json: standard 'x': float16: WHAT".
[[noreturn]] void wrong(const std::string& where, const std::string& what);

// Whether texts may hold control characters. What people write has no use for them; what assay
// wrote holds the names that were in its inputs.
enum class Controls : std::uint8_t { kRefused, kAllowed };

Json parse_json(const std::string& text, const std::string& source,
                Controls controls = Controls::kRefused);

// These throw as wrong() does: what is no object, an unknown key ("did you mean"), a value of
// another type or range. A key that is not there gives "" or nothing.
void check_keys(const Json& object, const std::vector<std::string>& known,
                const std::string& where);
std::string text_of(const Json& object, const char* key, const std::string& where);
// Whether a value is a whole number of int64: get() would make a negative one of 2^63 and more.
bool is_int64(const Json& value);
std::optional<double> number_of(const Json& object, const char* key, const std::string& where,
                                double most = INFINITY);
std::optional<std::int64_t> count_of(const Json& object, const char* key, const std::string& where);

}  // namespace assay::config
