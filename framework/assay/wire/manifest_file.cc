#include "assay/wire/manifest_file.h"

#include <cmath>

#include "assay/base/text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

constexpr const char* kVersion = "assay_cases";

// Returns the attribute as JSON. Numbers keep their type. JSON has no NaN and infinity, so they
// become a word under the key "float64".
Json attribute_json(const Attribute& attribute) {
  if (const auto* whole = std::get_if<std::int64_t>(&attribute)) return *whole;
  if (const auto* real = std::get_if<double>(&attribute)) {
    if (std::isfinite(*real)) return *real;
    return Json{{"float64", number_text(*real)}};
  }
  return std::get<std::string>(attribute);
}

Attribute attribute_of(const Json& value, const std::string& where) {
  if (is_int64(value)) return value.get<std::int64_t>();
  if (value.is_number_float()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object()) {
    if (const auto special = special_number(text_of(value, "float64", where))) return *special;
  }
  wrong(where, "an attribute is a number or a string");
}

std::map<std::string, Attribute> attributes_of(const Json& object, const char* key,
                                               const std::string& where) {
  std::map<std::string, Attribute> attributes;
  if (!object.contains(key)) return attributes;
  if (!object[key].is_object()) wrong(where, "'{}' must be an object", key);
  for (const auto& [name, value] : object[key].items()) {
    attributes.emplace(name, attribute_of(value, where + ": " + name));
  }
  return attributes;
}

Json attributes_json(const std::map<std::string, Attribute>& attributes) {
  Json object = Json::object();
  for (const auto& [name, value] : attributes) object[name] = attribute_json(value);
  return object;
}

ManifestArray array_of(const Json& object, const std::string& where) {
  check_keys(object, {"file", "dtype", "shape"}, where);
  ManifestArray array{text_of(object, "file", where), text_of(object, "dtype", where), {}};
  if (array.file.empty() || array.dtype.empty()) wrong(where, "'file' and 'dtype' are needed");
  for (const Json& extent : list_in(object, "shape", where, "a list of whole numbers")) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > INT64_MAX) {
      wrong(where, "'shape' must be a list of whole numbers of at least 0");
    }
    array.shape.push_back(extent.get<std::int64_t>());
  }
  return array;
}

ManifestCase case_of(const Json& object, const std::string& source) {
  const std::string name = object.is_object() ? text_of(object, "name", source) : "";
  const std::string where = source + ": case " + (name.empty() ? "without a name" : name);
  check_keys(object, {"name", "op", "attributes", "absent_inputs", "arrays", "machines", "results"},
             where);
  ManifestCase c{
      name, text_of(object, "op", where), attributes_of(object, "attributes", where), {}, {}, {},
      {}};
  if (c.name.empty() || c.op.empty()) wrong(where, "'name' and 'op' are needed");
  if (object.contains("absent_inputs")) {
    for (const Json& input : list_in(object, "absent_inputs", where)) {
      if (!input.is_string()) wrong(where, "'absent_inputs' must be a list of strings");
      c.absent_inputs.push_back(input.get<std::string>());
    }
  }
  for (const char* key : {"arrays", "machines", "results"}) {
    if (!object.contains(key)) continue;
    if (!object[key].is_object()) wrong(where, "'{}' must be an object", key);
    for (const auto& [of, value] : object[key].items()) {
      const std::string place = where + ": " + of;
      if (std::string_view(key) == "arrays") {
        c.arrays.emplace(of, array_of(value, place));
      } else if (std::string_view(key) == "machines") {
        if (!value.is_string()) wrong(place, "a machine is a string");
        c.machines.emplace(of, value.get<std::string>());
      } else {
        c.outputs.emplace(of, attributes_of(object[key], of.c_str(), place));
      }
    }
  }
  return c;
}

}  // namespace

Manifest parse_manifest(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source, Controls::kAllowed);
  check_keys(json, {kVersion, "attributes", "cases"}, source);
  if (count_of(json, kVersion, source).value_or(0) != 1) {
    wrong(source, "'{}' must be 1", kVersion);
  }
  Manifest manifest{attributes_of(json, "attributes", source), {}};
  for (const Json& object : list_in(json, "cases", source))
    manifest.cases.push_back(case_of(object, source));
  return manifest;
}

std::string manifest_text(const Manifest& manifest) {
  Json json = {{kVersion, 1}, {"attributes", attributes_json(manifest.attributes)}};
  json["cases"] = Json::array();
  for (const ManifestCase& c : manifest.cases) {
    Json object = {{"name", c.name}, {"op", c.op}, {"attributes", attributes_json(c.attributes)}};
    if (!c.absent_inputs.empty()) object["absent_inputs"] = c.absent_inputs;
    object["arrays"] = Json::object();
    for (const auto& [name, array] : c.arrays) {
      object["arrays"][name] = {
          {"file", array.file}, {"dtype", array.dtype}, {"shape", array.shape}};
    }
    if (!c.machines.empty()) object["machines"] = c.machines;
    for (const auto& [output, attributes] : c.outputs) {
      json::object_in(object, "results")[output] = attributes_json(attributes);
    }
    json["cases"].push_back(std::move(object));
  }
  return json.dump(1) + "\n";
}

}  // namespace assay::wire
