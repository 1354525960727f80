// A ratchet: how large the errors of every case were once, and where they have become larger since,
// although each case still passes its bound.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay {

// What is watched, by the names of the metric table, and the used share of the bound. Each is not
// negative, and larger is worse.
std::span<const std::string_view> baseline_metrics();
inline constexpr std::string_view kBoundShare = "worst_ratio";

// The part of a metric by which it may grow where nothing says what its noise is.
inline constexpr double kUnknownNoise = 0.1;

// The least and the most that was seen of a metric.
struct BaselineValue {
  double low = 0, high = 0;
};

struct BaselineEntry {
  std::string file, name, producer, output;
  std::string source_name = {};  // CaseReport::source_name
  std::string standard;          // whose bound kBoundShare is a share of
  int repeats = 1;               // runs that made the values
  std::map<std::string, BaselineValue> metrics = {};
};

struct Baseline {
  std::vector<BaselineEntry> entries;
};

// What a report gives: of each case that passes, and has metrics, an entry.
Baseline baseline_of(const GateReport& report);

// `old` with what the report gives in place of the entries of its cases. An entry of a case that
// the run chose, and did not find, goes; the others stay. `repeat`: what the report gives widens
// the entries that there are.
using IsChosen = std::function<bool(const BaselineEntry& entry)>;
Baseline updated(const Baseline& old, const GateReport& report, const IsChosen& is_chosen,
                 bool repeat);

// Marks the cases of the report that are worse than the baseline by more than their noise, and adds
// the cases that have disappeared, of those that the run chose. What is noise: of repeats, what
// they differ by; of the RMSE of a case that is judged by its expected error, what chance allows
// there; else kUnknownNoise. A case that fails already, or is excused, is not compared.
struct BaselineComparison {
  std::size_t compared = 0;             // cases that both sides have
  std::vector<std::string> notes = {};  // for the reader
};
BaselineComparison compare_with_baseline(GateReport& report, const Baseline& baseline,
                                         const IsChosen& is_chosen);

}  // namespace assay
