#include "assay/base/json.h"

#include <algorithm>
#include <limits>
#include <set>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::json {
namespace {

// Returns the depth to which values of a JSON text are nested. It also works for a text that is not
// JSON.
int depth_of(const std::string& text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

// The largest depth of values that is read. Copies and dump() are recursive, so deeper JSON could
// overflow the stack.
constexpr int kDeepest = 256;

}  // namespace

Json& object_in(Json& parent, const std::string& key) {
  Json& member = parent[key];
  if (member.is_null()) member = Json::object();
  return member;
}

Json& array_in(Json& parent, const std::string& key) {
  Json& member = parent[key];
  if (member.is_null()) member = Json::array();
  return member;
}

Json number(double value) {
  if (std::isnan(value)) return "nan";
  return std::isfinite(value) ? Json(value) : Json(number_text(value));
}

std::optional<double> special_number(const Json& value) {
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string dumped(const Json& json, int indent) {
  return printable_json(json.dump(indent, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string begin_of_list(Json head, const char* key) {
  head[key] = Json::array();
  std::string text = dumped(head, 2);
  text.resize(text.rfind(']'));
  return text;
}

std::string line_of_list(const Json& entry, bool is_first) {
  std::string line = dumped(entry, -1);
  line.pop_back();
  return (is_first ? "\n    " : ",\n    ") + line;
}

void wrong(const std::string& where, const std::string& what) { refuse(where + ": " + what); }

void check_keys(const Json& object, const std::vector<std::string>& known,
                const std::string& where) {
  if (!object.is_object()) wrong(where, "an object {...} is expected");
  for (const auto& [key, value] : object.items()) {
    if (contains(known, key)) continue;
    wrong(where, unknown_word("key", key, known));
  }
}

std::string text_of(const Json& object, const char* key, const std::string& where) {
  if (!object.contains(key)) return "";
  if (!object[key].is_string()) wrong(where, "'{}' must be a string", key);
  return object[key].get<std::string>();
}

bool is_int64(const Json& value) {
  return value.is_number_integer() &&
         !(value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX);
}

std::optional<double> number_of(const Json& object, const char* key, const std::string& where,
                                double most) {
  if (!object.contains(key)) return std::nullopt;
  const double value = object[key].is_number() ? object[key].get<double>() : NAN;
  if (!(value >= 0 && value <= most) || !std::isfinite(value)) {
    const bool is_range = most == 1 || value > most;
    wrong(where, "'{}' must be a number {}, not {}", key,
          is_range ? formatted("from 0 to {:.0f}", most) : "of at least 0", object[key].dump());
  }
  return value;
}

std::optional<std::int64_t> count_of(const Json& object, const char* key,
                                     const std::string& where) {
  const auto value = number_of(object, key, where, 0x1p53);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value)) wrong(where, "'{}' must be a whole number", key);
  return static_cast<std::int64_t>(*value);
}

const Json& list_in(const Json& object, const char* key, const std::string& where,
                    std::string_view wanted) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) wrong(where, "'{}' must be {}", key, wanted);
  return *found;
}

namespace {

// Returns true if the text has a control character of ASCII other than ends of lines and tabs.
bool has_control(const std::string& text) {
  return std::ranges::any_of(text, [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return (code < 0x20 && c != '\n' && c != '\r' && c != '\t') || code == 0x7f;
  });
}

}  // namespace

Json parse_json(const std::string& text, const std::string& source, Controls controls) {
  if (depth_of(text) > kDeepest) {
    wrong(source, "holds values within values more than {} deep", kDeepest);
  }
  // If a key occurs twice, the parser would take the last value, although the first may be the
  // intended one. So such texts are refused.
  std::vector<std::set<std::string>> keys;
  const auto look = [&](int, Json::parse_event_t event, Json& parsed) {
    if (controls == Controls::kRefused && parsed.is_string() &&
        has_control(parsed.get_ref<const std::string&>())) {
      wrong(source, "the text {} holds a control character", parsed.dump());
    }
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key) {
      const std::string key = parsed.get<std::string>();
      if (!keys.back().insert(key).second) {
        wrong(source, "has the key '{}' twice in one object", key);
      }
    }
    return true;
  };
  try {
    return Json::parse(text, look);
  } catch (const Json::parse_error& e) {
    wrong(source, "is no JSON: {}", e.what());
  } catch (const Json::out_of_range& e) {  // 1e999
    wrong(source, "holds a number beyond those of float64: {}", e.what());
  }
}

}  // namespace assay::json
