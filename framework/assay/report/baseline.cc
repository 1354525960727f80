#include "assay/report/baseline.h"

#include <algorithm>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/report/json_output.h"

namespace assay::report {
namespace {

Json entry_json(const BaselineEntry& e) {
  Json entry;
  if (!e.file.empty()) entry["file"] = e.file;
  entry["case"] = e.name;
  if (!e.source_name.empty()) entry["source_name"] = e.source_name;
  if (!e.output.empty()) entry["output_name"] = e.output;
  entry["output"] = e.producer;
  entry["standard"] = e.standard;
  if (e.repeats > 1) entry["repeats"] = e.repeats;
  entry["metrics"] = Json::object();
  for (const std::string_view metric : baseline_metrics()) {
    const auto value = e.metrics.find(std::string(metric));
    if (value == e.metrics.end()) continue;
    const auto [low, high] = value->second;
    entry["metrics"][value->first] = e.repeats > 1 ? Json{number(low), number(high)} : number(high);
  }
  return entry;
}

}  // namespace

std::string baseline_json(const Baseline& baseline) {
  std::vector<const BaselineEntry*> sorted;
  for (const BaselineEntry& e : baseline.entries) sorted.push_back(&e);
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    if (a->file != b->file) return natural_less(a->file, b->file);
    if (a->name != b->name) return natural_less(a->name, b->name);
    if (a->output != b->output) return natural_less(a->output, b->output);
    return natural_less(a->producer, b->producer);
  });
  std::string text = "{\"schema\": 1, \"baseline\": [";
  for (const BaselineEntry* e : sorted) {
    text += formatted(
        "{}\n  {}", e == sorted.front() ? "" : ",",
        printable_json(entry_json(*e).dump(-1, ' ', false, Json::error_handler_t::replace)));
  }
  return text + "\n]}\n";
}

}  // namespace assay::report
