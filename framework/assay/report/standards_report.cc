#include "assay/report/standards_report.h"

#include <map>
#include <vector>

#include "assay/judge/rule_table.h"
#include "assay/report/json_output.h"

namespace assay::report {
namespace {

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

// The part of a dtype's rule that speaks of elements.
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
    Json& dtype = dtypes[std::string(row.dtype)];
    const std::string name(statistic_name(row.limit.statistic));
    if (row.limit.group == 0) {
      dtype["limits"][name] = limit_json(row);
      continue;
    }
    Json& groups = dtype["any_of"];
    const auto [place, added] =
        places.try_emplace({row.dtype, row.limit.group}, groups.is_null() ? 0 : groups.size());
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

}  // namespace assay::report
