// A ratchet on errors: it records how large the errors of every case were. Later runs report the
// cases whose errors have become larger, even if each case still passes its bound.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/gate/case_report.h"

namespace assay::inline v0_2 {

// Returns the names of the watched metrics (judge/metric_table.h), and kBoundShare, the used share
// of the bound. Each value is at least 0, and a larger one is worse.
std::span<const std::string_view> baseline_metrics();
inline constexpr std::string_view kBoundShare = "worst_ratio";

// The fraction by which a metric may grow if nothing gives its noise.
inline constexpr double kUnknownNoise = 0.1;

// The smallest and the largest value of a metric in the runs that made the baseline.
struct BaselineValue {
  double low = 0, high = 0;
};

struct BaselineEntry {
  std::string file = {}, name = {}, producer = {}, output = {};
  std::string source_name = {};  // CaseReport::source_name
  std::string standard = {};     // the standard that gave the bound of kBoundShare
  int repeats = 1;               // number of runs that gave the values
  std::map<std::string, BaselineValue> metrics = {};
};

struct Baseline {
  std::vector<BaselineEntry> entries;
};

// Returns the baseline of a report: one entry for each case that passes and has metrics.
Baseline baseline_of(const GateReport& report);

// Returns `old` with new entries for the cases of the report. The entry of a case is removed if the
// run chose the case but the case is not among those that pass. All other entries stay. If `repeat`
// is true, the report's values widen the ranges of the old entries instead of replacing them.
using IsChosen = std::function<bool(const BaselineEntry& entry)>;
Baseline updated(const Baseline& old, const GateReport& report, const IsChosen& is_chosen,
                 bool repeat);

// Marks the cases of the report that are worse than the baseline by more than their noise. Adds the
// cases that have disappeared, if the run chose them. The noise of a metric is, in this order:
// - for a baseline of several runs, the range of their values;
// - for the RMSE of a case that is judged by its expected error, what chance allows;
// - the fraction kUnknownNoise.
//
// A case that does not pass is not compared.
struct BaselineComparison {
  std::size_t compared = 0;  // number of cases that both the report and the baseline have
  std::vector<std::string> notes = {};  // notes for the reader of the report
};
BaselineComparison compare_with_baseline(GateReport& report, const Baseline& baseline,
                                         const IsChosen& is_chosen);

}  // namespace assay
