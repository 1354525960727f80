#include "assay/config/standards_file.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/config/json_input.h"
#include "assay/judge/standards.h"

namespace assay::config {
namespace {

const std::vector<std::string> kRowKeys = {"rtol", "atol",   "small_value", "small_atol",
                                           "ulp",  "limits", "parameters"};

// One dtype: rtol and atol, or ulp, or limits alone.
void read_row(Bound& bound, const Json& row, const std::string& where) {
  check_keys(row, kRowKeys, where);
  bound.rtol = number_of(row, "rtol", where).value_or(0);
  bound.atol = number_of(row, "atol", where).value_or(0);
  bound.small_value = number_of(row, "small_value", where).value_or(0);
  bound.small_atol = number_of(row, "small_atol", where).value_or(0);
  const bool tolerance = row.contains("rtol") || row.contains("atol");
  if (row.contains("small_atol") != row.contains("small_value")) {
    wrong(where, "small_value and small_atol go together");
  }
  if (row.contains("small_value") && !tolerance) {
    wrong(where, "small_value goes with rtol or atol, which judge all other elements");
  }
  if (const auto ulps = count_of(row, "ulp", where)) {
    if (tolerance) wrong(where, "give ulp, or rtol and atol, not both");
    bound.rule = Rule::kUlps;
    bound.ulps = static_cast<std::uint64_t>(*ulps);
  } else if (!tolerance) {
    bound.rule = Rule::kStatistics;
  }
  if (row.contains("limits")) check_keys(row["limits"], statistic_names(), where + ": limits");
  if (row.contains("parameters")) {
    check_keys(row["parameters"], statistic_names(), where + ": parameters");
  }
  for (const std::string& name : statistic_names()) {
    if (!row.contains("limits") || !row["limits"].contains(name)) {
      if (row.contains("parameters") && row["parameters"].contains(name)) {
        wrong(where, format("'parameters' has '{}', and 'limits' does not", name));
      }
      continue;
    }
    Limit limit{*find_statistic(name), *number_of(row["limits"], name.c_str(), where + ": limits")};
    const int parameters = metric_of(limit.statistic).limit->parameters;
    const bool given = row.contains("parameters") && row["parameters"].contains(name);
    if ((parameters > 0) != given) {
      wrong(where, parameters > 0 ? format("'{}' needs its entry in 'parameters'", name)
                                  : "unused entry in 'parameters'");
    }
    if (given) {
      const Json& values = row["parameters"][name];
      const Json list = values.is_array() ? values : Json::array({values});
      if (list.size() != static_cast<std::size_t>(parameters) ||
          !std::all_of(list.begin(), list.end(), [](const Json& v) { return v.is_number(); })) {
        wrong(where,
              format("the parameter of '{}' must be {}", name,
                     parameters == 2 ? "[limit of |expected|, error that counts]" : "a number"));
      }
      limit.parameter = list[0].get<double>();
      if (parameters == 2) limit.second = list[1].get<double>();
    }
    bound.limits.push_back(limit);
  }
  if (bound.rule == Rule::kStatistics && bound.limits.empty()) {
    wrong(where, "nothing is limited: give rtol or atol, ulp, or limits");
  }
}

CustomStandard read_standard(const Json& json, const std::string& source) {
  const std::string name = json.is_object() ? text_of(json, "name", source) : "";
  const std::string where = format("{}: standard '{}'", source, name);
  check_keys(json,
             {"name", "why", "round_expected", "nan", "infinity", "max_mismatches",
              "max_mismatch_fraction", "dtypes"},
             where);
  if (name.empty() || name.find_first_of("=,() ") != std::string::npos) {
    wrong(where, "'name' must be a word without blanks, commas, '=' and brackets");
  }
  bool taken = name.starts_with("accumulation") || name.starts_with("bit_equal");
  for (const Standard& s : standards()) taken |= s.name == name;
  if (taken) wrong(where, "the name is taken by a published standard");
  if (text_of(json, "why", where).empty()) {
    wrong(where, "'why' is missing: say what the numbers rest on");
  }
  Bound common;
  common.standard = name;
  if (json.contains("round_expected")) {
    if (!json["round_expected"].is_boolean()) {
      wrong(where, "'round_expected' must be true or false");
    }
    common.round_expected = json["round_expected"].get<bool>();
  }
  const std::string nan = text_of(json, "nan", where);
  if (nan != "" && nan != "never" && nan != "equal" && nan != "accept") {
    wrong(where, format("'nan' is one of never, equal, accept, not '{}'", nan));
  }
  common.nan_equal = nan == "equal";
  common.nan_accepts = nan == "accept";
  const std::string infinity = text_of(json, "infinity", where);
  if (!infinity.empty()) common.infinity = infinity_named(infinity, where);
  common.max_mismatches = count_of(json, "max_mismatches", where);
  common.max_mismatch_fraction = number_of(json, "max_mismatch_fraction", where, 1);
  if (!json.contains("dtypes") || !json["dtypes"].is_object() || json["dtypes"].empty()) {
    wrong(where, "'dtypes' must be an object of at least one dtype");
  }
  CustomStandard standard{name, {}};
  for (const auto& [dtype, row] : json["dtypes"].items()) {
    std::string known = dtype;
    if (dtype != "*") {
      try {
        known = format_named(dtype).name;
      } catch (const std::invalid_argument& e) {
        wrong(where, e.what());
      }
    }
    for (const auto& [other, bound] : standard.rows) {
      if (other == known)
        wrong(where, format("'{}' is there twice: '{}' is its name, too", known, dtype));
    }
    Bound bound = common;
    read_row(bound, row, where + ": " + dtype);
    standard.rows.emplace_back(known, bound);
  }
  return standard;
}

}  // namespace

std::vector<CustomStandard> parse_standards(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  check_keys(json, {"standards"}, source);
  if (!json.contains("standards") || !json["standards"].is_array()) {
    wrong(source, "'standards' must be an array [...]");
  }
  std::vector<CustomStandard> standards;
  for (const Json& entry : json["standards"]) {
    standards.push_back(read_standard(entry, source));
    for (std::size_t i = 0; i + 1 < standards.size(); ++i) {
      if (standards[i].name == standards.back().name) {
        wrong(source, format("standard '{}' is there twice", standards[i].name));
      }
    }
  }
  return standards;
}

std::vector<CustomStandard> read_standards(const std::string& path) {
  return parse_standards(read_file(path), path);
}

}  // namespace assay::config
