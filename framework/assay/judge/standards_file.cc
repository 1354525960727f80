#include "assay/judge/standards_file.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "assay/base/file.h"
#include "assay/base/json.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kInFile = ".json:";  // stands between a file's path and a name

using json::array_in;
using json::check_keys;
using json::count_of;
using json::dumped;
using json::Json;
using json::list_in;
using json::number_of;
using json::object_in;
using json::parse_json;
using json::text_of;
using json::wrong;

const std::vector<std::string> kToleranceKeys = {
    "rtol",   "atol",  "rule", "floor", "in_epsilon", "small_value", "small_atol",
    "or_ulp", "share", "ulp",  "bits",  "limits",     "any_of",      "parameters"};

bool flag_of(const Json& json, const char* key, const std::string& where, bool fallback) {
  if (!json.contains(key)) return fallback;
  if (!json[key].is_boolean()) wrong(where, "'{}' must be true or false", key);
  return json[key].get<bool>();
}

// Reads a distance in ulp, which may need all 64 bits.
std::optional<std::uint64_t> ulps_of(const Json& json, const char* key, const std::string& where) {
  if (json.contains(key) && json[key].is_number_unsigned()) return json[key].get<std::uint64_t>();
  if (json.contains(key) && json[key].is_number() && json[key].get<double>() > 0x1p53) {
    wrong(where, "'{}' must be a whole number from 0 to 18446744073709551615, not {}", key,
          json[key].dump());
  }
  const auto ulps = count_of(json, key, where);
  return ulps ? std::optional(static_cast<std::uint64_t>(*ulps)) : std::nullopt;
}

// Reads the parameters of a statistic, which must have the number that it requires.
void read_parameters(Limit& limit, const Json* values, const std::string& name,
                     const std::string& where) {
  const int parameters = metric_of(limit.statistic).limit->parameters;
  if ((parameters > 0) != (values != nullptr)) {
    wrong(where, parameters > 0 ? formatted("'{}' needs its entry in 'parameters'", name)
                                : "unused entry in 'parameters'");
  }
  if (values == nullptr) return;
  const Json list = values->is_array() ? *values : Json::array({*values});
  if (list.size() != static_cast<std::size_t>(parameters) ||
      !std::ranges::all_of(list, [](const Json& v) { return v.is_number(); })) {
    wrong(where, "the parameter of '{}' must be {}", name,
          parameters == 2 ? "[limit of |expected|, error that counts]" : "a number");
  }
  limit.parameter = list[0].get<double>();
  if (parameters == 2) limit.second = list[1].get<double>();
  const bool is_quantile = name.starts_with("quantile");
  if (is_quantile && !(limit.parameter >= 0 && limit.parameter <= 1)) {
    wrong(where, "the parameter of '{}' must be from 0 to 1, as in 0.99", name);
  }
}

// Reads "mere": 1e-3, or {"at_most": 1e-3, "parameter": ..., "grows": true}.
LimitRow read_limit(const std::string& name, const Json& limits, const Json* parameters,
                    const std::string& where) {
  LimitRow row;
  Limit& limit = row.limit;
  limit.statistic = *find_statistic(name);
  const Json& value = limits[name];
  if (!value.is_object()) {
    limit.limit = *number_of(limits, name.c_str(), where);
  } else {
    const std::string at = where + ": " + name;
    std::vector<std::string> keys = {"parameter", "grows"}, senses;
    for (const LimitSenseRow& by : limit_senses()) {
      if (!same_direction(by.sense, limit.how())) continue;
      keys.emplace_back(by.name);
      senses.emplace_back(by.name);
      if (!value.contains(by.name)) continue;
      if (limit.sense) wrong(at, "one of {}, not several", joined(senses));
      limit.sense = by.sense;
      limit.limit = *number_of(value, keys.back().c_str(), at);
    }
    check_keys(value, keys, at);
    if (!limit.sense) wrong(at, "one of {} is needed", joined(senses));
    row.grows = flag_of(value, "grows", at, false);
    if (value.contains("parameter")) parameters = &value["parameter"];
  }
  read_parameters(limit, parameters, name, where);
  return row;
}

// Reads the limits of a JSON object. All of them belong to `group`.
void read_limits(CustomStandard& standard, std::string_view dtype, const Json& limits,
                 const Json* parameters, int group, const std::string& where) {
  check_keys(limits, statistic_names(), where);
  for (const std::string& name : statistic_names()) {
    const Json* const own =
        parameters != nullptr && parameters->contains(name) ? &(*parameters)[name] : nullptr;
    if (!limits.contains(name)) continue;
    LimitRow row = read_limit(name, limits, own, where);
    row.dtype = dtype;
    row.limit.group = group;
    standard.limits.push_back(row);
  }
}

// Reads the rule of one dtype: a tolerance, ulps or bits, with limits or without, or only limits.
void read_row(CustomStandard& standard, std::string_view dtype, const Json& row,
              const std::string& where) {
  check_keys(row, kToleranceKeys, where);
  ToleranceRow rule{.dtype = dtype};
  const bool tolerance = row.contains("rtol") || row.contains("atol");
  const auto goes_with = [&](const char* key, bool with, const char* what) {
    if (row.contains(key) && !with) wrong(where, "'{}' is only for {}", key, what);
  };
  if (tolerance + row.contains("ulp") + row.contains("bits") > 1) {
    wrong(where, row.contains("bits") ? "give bits, or ulp, or rtol and atol, not both"
                                      : "give ulp, or rtol and atol, not both");
  }
  rule.rtol = number_of(row, "rtol", where).value_or(0);
  rule.atol = number_of(row, "atol", where).value_or(0);
  rule.rule = Rule::kTolerance;
  goes_with("rule", tolerance, "rtol or atol");
  if (const std::string word = text_of(row, "rule", where); !word.empty()) {
    const auto rules = tolerance_rules();
    const auto named = std::ranges::find(rules, word, &RuleRow::name);
    if (named == rules.end()) {
      wrong(where, "'rule' is one of {}, not '{}'", joined(names_of(rules)), word);
    }
    rule.rule = named->rule;
  }
  const bool has_floor = row_of(*rule.rule).takes("floor");
  goes_with("floor", has_floor, "the rules largest and symmetric");
  goes_with("atol", !has_floor, "the rules sum and either");
  rule.floor = number_of(row, "floor", where).value_or(0);
  goes_with("in_epsilon", tolerance, "rtol or atol");
  rule.in_epsilon = flag_of(row, "in_epsilon", where, false);
  rule.small_value = number_of(row, "small_value", where).value_or(0);
  rule.small_atol = number_of(row, "small_atol", where).value_or(0);
  if (row.contains("small_atol") != row.contains("small_value")) {
    wrong(where, "small_value and small_atol are only for use together; give both");
  }
  if (row.contains("small_value") && !tolerance) {
    wrong(where,
          "small_value is only for rtol or atol, which judge all other elements; add one of them");
  }
  const bool is_float = dtype == "*" || format_named(dtype).is_float();
  goes_with("or_ulp", tolerance, "rtol or atol");
  goes_with("or_ulp", is_float, "floats; for other dtypes use atol");
  rule.or_ulps = ulps_of(row, "or_ulp", where).value_or(0);
  const bool by_elements = tolerance || row.contains("ulp") || row.contains("bits");
  goes_with("share", by_elements, "rtol or atol, ulp or bits");
  rule.share = number_of(row, "share", where, 1).value_or(0);
  if (const auto ulps = ulps_of(row, "ulp", where)) {
    rule.rule = Rule::kUlps;
    rule.ulps = *ulps;
  } else if (row.contains("bits")) {
    if (!flag_of(row, "bits", where, true))
      wrong(where, "'bits' must be true; leave it out otherwise");
    rule.rule = Rule::kBits;
  } else if (!tolerance) {
    rule.rule = Rule::kStatistics;
  }
  const std::size_t before = standard.limits.size();
  const Json* const parameters = row.contains("parameters") ? &row["parameters"] : nullptr;
  if (parameters != nullptr) check_keys(*parameters, statistic_names(), where + ": parameters");
  if (row.contains("limits")) {
    read_limits(standard, dtype, row["limits"], parameters, 0, where + ": limits");
  }
  if (parameters != nullptr) {
    for (const auto& [name, value] : parameters->items()) {
      if (row.contains("limits") && row["limits"].contains(name)) continue;
      wrong(where, "'parameters' has '{}', but 'limits' does not; add it there", name);
    }
  }
  if (row.contains("any_of")) {
    const std::string at = where + ": any_of";
    if (!row["any_of"].is_array() || row["any_of"].empty()) {
      wrong(at, "an array of objects: of the limits of each, one is enough");
    }
    int group = 0;
    for (const Json& limits : row["any_of"]) {
      read_limits(standard, dtype, limits, nullptr, ++group, at);
      if (limits.size() < 2)
        wrong(at, "any_of has an object with only one limit; write it in limits");
    }
  }
  if (!by_elements && standard.limits.size() == before) {
    wrong(where, "nothing is limited: give rtol or atol, ulp, bits, limits or any_of");
  }
  standard.rows.push_back(rule);
}

CustomStandard read_standard(const Json& json, const std::string& source) {
  const std::string name = json.is_object() ? text_of(json, "name", source) : "";
  const std::string where = formatted("{}: standard '{}'", source, name);
  check_keys(json,
             {"name", "why", "repository", "commit", "path", "date", "round_expected", "nan",
              "infinity", "max_mismatches", "max_mismatch_fraction", "growth", "dtypes"},
             where);
  if (name.empty() || name.find_first_of("=,() ") != std::string::npos) {
    wrong(where, "'name' must be a word without blanks, commas, '=' and brackets");
  }
  bool taken = name.starts_with("accumulation") || name.starts_with("bit_equal");
  taken |= find_standard(name) != nullptr;
  if (taken) wrong(where, "the name is taken by a published standard");
  if (text_of(json, "why", where).empty()) {
    wrong(where, "'why' is missing: say what the numbers rest on");
  }
  // The publication of the rule is only for the reader of the file. Its keys must be texts, and are
  // not used.
  for (const char* key : {"repository", "commit", "path", "date"}) (void)text_of(json, key, where);
  CustomStandard standard{.name = name, .rows = {}, .limits = {}};
  Standard& rest = standard.rest;
  rest.round_expected = flag_of(json, "round_expected", where, true);
  const std::string nan = text_of(json, "nan", where);
  if (!nan.empty() && nan != "never" && nan != "equal" && nan != "accept") {
    wrong(where, "'nan' is one of never, equal, accept, not '{}'", nan);
  }
  rest.nan_equal = nan == "equal";
  rest.nan_accepts = nan == "accept";
  const std::string infinity = text_of(json, "infinity", where);
  if (!infinity.empty()) rest.infinity = infinity_named(infinity, where);
  rest.max_mismatches = count_of(json, "max_mismatches", where);
  rest.max_mismatch_fraction = number_of(json, "max_mismatch_fraction", where, 1);
  if (const std::string growth = text_of(json, "growth", where); !growth.empty()) {
    const std::optional<Growth> named = growth_named(growth);
    if (!named) {
      wrong(where, "'growth' is one of none, twice_from_2048, atb, linear, not '{}'", growth);
    }
    rest.growth = *named;
  }
  if (!json.contains("dtypes") || !json["dtypes"].is_object() || json["dtypes"].empty()) {
    wrong(where, "'dtypes' must be an object of at least one dtype");
  }
  for (const auto& [dtype, row] : json["dtypes"].items()) {
    const std::string_view known =
        dtype == "*" ? "*"
                     : at_place(where, [&, &name = dtype] { return format_named(name).name; });
    for (const ToleranceRow& other : standard.rows) {
      if (other.dtype == known)
        wrong(where, "'{}' is there twice: '{}' is its name, too", known, dtype);
    }
    read_row(standard, known, row, where + ": " + dtype);
  }
  return standard;
}

void put(Json& json, const char* key, double value) {
  if (value != 0) json[key] = value;
}

Json limit_json(const LimitRow& of) {
  const Limit& limit = of.limit;
  const MetricLimit& row = *metric_of(limit.statistic).limit;
  Json parameter = limit.parameter;
  if (row.parameters == 2) parameter = {limit.parameter, limit.second};
  if (row.parameters == 0 && !limit.sense && !of.grows) return limit.limit;
  Json json = {{std::string(row_of(limit.how()).name), limit.limit}};
  if (row.parameters > 0) json["parameter"] = parameter;
  if (of.grows) json["grows"] = true;
  return json;
}

// Writes the part of a dtype's rule that applies to elements.
Json elements_json(const ToleranceRow& row, Rule rule) {
  Json json = Json::object();
  if (rule == Rule::kUlps) json["ulp"] = row.ulps;
  if (rule == Rule::kBits) json["bits"] = true;
  if (const RuleRow& named = row_of(rule); !named.name.empty()) {
    json["rtol"] = row.rtol;
    if (named.takes("atol")) json["atol"] = row.atol;
    if (rule != Rule::kTolerance) json["rule"] = named.name;
  }
  put(json, "floor", row.floor);
  if (row.in_epsilon) json["in_epsilon"] = true;
  put(json, "small_value", row.small_value);
  if (row.small_value > 0) json["small_atol"] = row.small_atol;
  if (row.or_ulps > 0) json["or_ulp"] = row.or_ulps;
  put(json, "share", row.share);
  return json;
}

Json dtypes_json(const Standard& standard) {
  Json dtypes = Json::object();
  for (const ToleranceRow& row : standard.rows) {
    dtypes[std::string(row.dtype)] = elements_json(row, row.rule.value_or(standard.rule));
  }
  std::map<std::pair<std::string_view, int>, std::size_t> places;  // of groups
  for (const LimitRow& row : standard.limits) {
    Json& dtype = object_in(dtypes, std::string(row.dtype));
    const std::string name(statistic_name(row.limit.statistic));
    if (row.limit.group == 0) {
      object_in(dtype, "limits")[name] = limit_json(row);
      continue;
    }
    Json& groups = array_in(dtype, "any_of");
    const auto [place, added] = places.try_emplace({row.dtype, row.limit.group}, groups.size());
    if (added) groups.push_back(Json::object());
    groups[place->second][name] = limit_json(row);
  }
  return dtypes;
}

}  // namespace

std::string standards_json(std::span<const Standard> standards) {
  Json list = Json::array();
  for (const Standard& s : standards) {
    Json json = {{"name", s.name}, {"why", s.source}};
    for (const auto& [key, text] :
         {std::pair("repository", s.publication.repository),
          std::pair("commit", s.publication.commit), std::pair("path", s.publication.path),
          std::pair("date", s.publication.date)}) {
      if (!text.empty()) json[key] = text;
    }
    json["round_expected"] = s.round_expected;
    json["nan"] = s.nan_accepts ? "accept" : s.nan_equal ? "equal" : "never";
    if (s.infinity != Infinity::kSign) json["infinity"] = infinity_word(s.infinity);
    if (s.max_mismatches) json["max_mismatches"] = *s.max_mismatches;
    if (s.max_mismatch_fraction) json["max_mismatch_fraction"] = *s.max_mismatch_fraction;
    if (s.growth != Growth::kNone) json["growth"] = growth_word(s.growth);
    json["dtypes"] = dtypes_json(s);
    list.push_back(std::move(json));
  }
  return dumped(Json{{"standards", list}}, 2);
}

std::vector<CustomStandard> parse_standards(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  check_keys(json, {"standards"}, source);
  std::vector<CustomStandard> standards;
  for (const Json& entry : list_in(json, "standards", source, "an array [...]")) {
    standards.push_back(read_standard(entry, source));
    for (std::size_t i = 0; i + 1 < standards.size(); ++i) {
      if (standards[i].name == standards.back().name) {
        wrong(source, "standard '{}' is there twice", standards[i].name);
      }
    }
  }
  return standards;
}

std::vector<CustomStandard> read_standards(const std::string& path) {
  return parse_standards(read_file(path), path);
}

bool is_in_file(std::string_view standard) {
  return standard.find(kInFile) != std::string_view::npos || standard.ends_with(".json");
}

const CustomStandard* find_custom_standard(std::string_view name,
                                           std::span<const CustomStandard> custom) {
  if (const CustomStandard* own = find_row(custom, name, &CustomStandard::name)) return own;
  if (!is_in_file(name)) return nullptr;
  const std::size_t at = name.find(kInFile);
  const std::size_t path_end =
      at == std::string_view::npos ? name.size() : at + kInFile.size() - 1;  // before the colon
  const std::string path(name.substr(0, path_end));
  const std::string_view of_file = name.substr(std::min(path_end + 1, name.size()));
  static std::mutex mutex;
  static std::map<std::string, std::vector<CustomStandard>> files;
  const std::lock_guard lock(mutex);
  auto known = files.find(path);
  if (known == files.end()) known = files.emplace(path, read_standards(path)).first;
  const std::vector<CustomStandard>& standards = known->second;
  if (const CustomStandard* found = find_row(standards, of_file, &CustomStandard::name)) {
    return found;
  }
  const std::vector<std::string> names = names_of(standards);
  if (of_file.empty()) {
    refuse("{} is a file of standards; name one of them, as in {}:{}", path, path,
           names.empty() ? "NAME" : names.front());
  }
  refuse("{}: {}", path, unknown_word("standard", of_file, names));
}

}  // namespace assay
