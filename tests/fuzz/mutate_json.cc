// Changes JSON as a tree: a value becomes another one, is doubled, is moved, loses its key, or
// nests.
#include <nlohmann/json.hpp>
#include <string>

#include "target.h"

namespace assay::fuzz {
namespace {

using Json = nlohmann::ordered_json;

void collect(Json& value, std::vector<Json*>& all, int depth) {
  all.push_back(&value);
  if (depth > 64) return;
  if (value.is_object() || value.is_array()) {
    for (Json& below_it : value) collect(below_it, all, depth + 1);
  }
}

Json other_value(Draw& draw, Change change, const std::vector<Json*>& all) {
  constexpr double kReals[] = {0.5, -0.0, 1e308, 1e-320, 3.25, -1, 0x1p53, 0x1p63, 1e19};
  switch (below(draw, 10)) {
    case 0:
      return nullptr;
    case 1:
      return below(draw, 2) == 0;
    case 2:
      return static_cast<std::int64_t>(hot_number(draw, 8, 64));
    case 3:
      return hot_number(draw, 8, 64);
    case 4:
      return kReals[below(draw, std::size(kReals))];
    case 5:
      return text_of(change(bytes_of("x"), 16));
    case 6:
      return Json::array();
    case 7:
      return Json::object();
    default:
      return *all[below(draw, all.size())];
  }
}

void change_one(Json& json, Draw& draw, Change change) {
  std::vector<Json*> all;
  collect(json, all, 0);
  Json& at = *all[below(draw, all.size())];
  switch (below(draw, 8)) {
    case 0:
    case 1:
      at = Json(other_value(draw, change, all));
      return;
    case 2:  // of a list, of which there is one
      at = Json::array({Json(at), Json(at)});
      return;
    case 3:
      if (at.is_object() && !at.empty()) {
        auto one = at.begin();
        std::advance(one, static_cast<std::ptrdiff_t>(below(draw, at.size())));
        at.erase(one);
      } else if (at.is_array() && !at.empty()) {
        at.erase(below(draw, at.size()));
      }
      return;
    case 4:
      if (at.is_array()) {
        at.push_back(other_value(draw, change, all));
      } else if (at.is_object() && !at.empty()) {
        // Adds a misspelt copy of one of the object's keys, with its value.
        auto one = at.begin();
        std::advance(one, static_cast<std::ptrdiff_t>(below(draw, at.size())));
        const std::string key = text_of(change(bytes_of(one.key()), one.key().size() + 4));
        const Json value = one.value();
        at[key] = value;
      }
      return;
    // Adds the keys of another object.
    case 5: {
      const Json from = *all[below(draw, all.size())];
      if (at.is_object() && from.is_object()) {
        for (const auto& [key, value] : from.items()) at[key] = value;
      }
      return;
    }
    default:
      if (at.is_string()) {
        const auto text = at.get<std::string>();
        at = text_of(change(bytes_of(text), text.size() + 8));
      } else if (at.is_number_integer()) {
        at = static_cast<std::int64_t>(at.get<std::uint64_t>() + below(draw, 3) - 1);
      } else {
        at = Json(other_value(draw, change, all));
      }
  }
}

}  // namespace

// Some inputs begin with a byte that chooses their reader.
Bytes mutate_json(Bytes input, Draw& draw, Change change) {
  const bool has_choice = !input.empty() && input[0] != '{' && input[0] != '[' && input[0] != ' ';
  const std::string text = text_of(std::span(input).subspan(has_choice ? 1 : 0));
  Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return change(input, input.size() + 64);
  const std::size_t changes = 1 + below(draw, 3);
  for (std::size_t i = 0; i < changes; ++i) change_one(json, draw, change);
  // Bytes of changed texts that are not UTF-8 are left out.
  std::string written = json.dump(-1, ' ', false, Json::error_handler_t::ignore);
  if (has_choice) written.insert(0, 1, static_cast<char>(input[0]));
  if (below(draw, 16) == 0) return change(bytes_of(written), written.size() + 16);
  return bytes_of(written);
}

Bytes mutate_safetensors(Bytes input, Draw& draw, Change change) {
  constexpr std::size_t kLength = 8;
  const std::uint64_t length = number_at(input, 0, kLength);
  if (input.size() < kLength || length > input.size() - kLength || below(draw, 8) == 0) {
    return change(input, input.size() + 64);
  }
  const auto data = input.begin() + static_cast<std::ptrdiff_t>(kLength + length);
  Bytes header(input.begin() + kLength, data);
  header = below(draw, 4) == 0 ? change(header, header.size() + 32)
                               : mutate_json(std::move(header), draw, change);
  Bytes out(kLength);
  // In most files, the stated length of the header is right.
  put_number(out, 0, kLength,
             below(draw, 2) == 0 ? header.size() : hot_number(draw, kLength, input.size()));
  if (below(draw, 2) == 0) put_number(out, 0, kLength, header.size());
  out.insert(out.end(), header.begin(), header.end());
  out.insert(out.end(), data, input.end());
  return out;
}

}  // namespace assay::fuzz
