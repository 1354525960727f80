#include "assay/wire/baseline.h"

#include <algorithm>

#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

Json entry_json(const BaselineEntry& e) {
  Json entry = Json::object();
  if (!e.file.empty()) entry["file"] = e.file;
  entry["case"] = e.name;
  if (!e.source_name.empty()) entry["source_name"] = e.source_name;
  if (!e.output.empty()) entry["output_name"] = e.output;
  entry["producer"] = e.producer;
  entry["standard"] = e.standard;
  if (e.repeats > 1) entry["repeats"] = e.repeats;
  entry["metrics"] = Json::object();
  for (const std::string_view metric : baseline_metrics()) {
    const auto value = e.metrics.find(std::string(metric));
    if (value == e.metrics.end()) continue;
    const auto [low, high] = value->second;
    object_in(entry, "metrics")[value->first] =
        e.repeats > 1 ? Json{number(low), number(high)} : number(high);
  }
  return entry;
}

double value_of(const Json& json, const std::string& where) {
  const double value = json.is_number() ? json.get<double>() : special_number(json).value_or(-1);
  if (!(value >= 0)) {
    wrong(where, "a number of at least 0 is expected, not {}", json.dump());
  }
  return value;
}

BaselineEntry entry_of(const Json& json, const std::string& where) {
  check_keys(
      json,
      {"file", "case", "source_name", "output_name", "producer", "standard", "repeats", "metrics"},
      where);
  BaselineEntry entry{.file = text_of(json, "file", where),
                      .name = text_of(json, "case", where),
                      .producer = text_of(json, "producer", where),
                      .output = text_of(json, "output_name", where),
                      .source_name = text_of(json, "source_name", where),
                      .standard = text_of(json, "standard", where)};
  if (entry.name.empty()) wrong(where, "'case' is missing");
  const auto repeats = count_of(json, "repeats", where).value_or(1);
  if (repeats < 1 || repeats > 1000000) wrong(where, "'repeats' must be from 1 to 1000000");
  entry.repeats = static_cast<int>(repeats);
  if (!json.contains("metrics")) wrong(where, "'metrics' is missing");
  std::vector<std::string> known;
  for (const std::string_view metric : baseline_metrics()) known.emplace_back(metric);
  check_keys(json["metrics"], known, where + ": metrics");
  for (const auto& [metric, value] : json["metrics"].items()) {
    const std::string at = formatted("{}: {}", where, metric);
    BaselineValue& seen = entry.metrics[metric];
    if (!value.is_array()) {
      seen.low = seen.high = value_of(value, at);
      continue;
    }
    if (value.size() != 2) wrong(at, "a number, or the least and the most of repeats, is expected");
    seen = {value_of(value[0], at), value_of(value[1], at)};
    if (seen.low > seen.high) wrong(at, "the least comes before the most");
  }
  return entry;
}

}  // namespace

std::string baseline_json(const Baseline& baseline) {
  std::vector<const BaselineEntry*> sorted;
  for (const BaselineEntry& e : baseline.entries) sorted.push_back(&e);
  std::ranges::stable_sort(sorted, [](const auto* a, const auto* b) {
    if (a->file != b->file) return natural_less(a->file, b->file);
    if (a->name != b->name) return natural_less(a->name, b->name);
    if (a->output != b->output) return natural_less(a->output, b->output);
    return natural_less(a->producer, b->producer);
  });
  std::string text = formatted("{{\"schema\": {}, \"baseline\": [", kResultSchema);
  for (const BaselineEntry* e : sorted) {
    text += formatted(
        "{}\n  {}", e == sorted.front() ? "" : ",",
        printable_json(entry_json(*e).dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return text + "\n]}\n";
}

Baseline read_baseline(const std::string& path) {
  const Json json = parse_json(read_file(path), path, Controls::kAllowed);
  check_keys(json, {"schema", "baseline"}, path);
  if (!json.contains("schema")) wrong(path, "is no baseline");
  if (const std::string why = why_not_read(json["schema"]); !why.empty()) wrong(path, why);
  Baseline baseline;
  for (const Json& entry : list_in(json, "baseline", path, "a list of cases")) {
    baseline.entries.push_back(
        entry_of(entry, formatted("{}: entry {}", path, baseline.entries.size() + 1)));
  }
  return baseline;
}

}  // namespace assay::wire
