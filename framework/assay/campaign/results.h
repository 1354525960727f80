// From counts to rates: what a campaign's report says, with its intervals.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/campaign/engine.h"
#include "assay/campaign/statistics.h"

namespace assay::campaign {

inline constexpr double kConfidence = 0.95;

// A rate with what is known of it. Trials of one matrix are not independent: `interval` comes from
// a bootstrap over matrices where there are at least kBootstrapMatrices, else it is Wilson's.
struct MeasuredRate {
  Rate rate;
  Interval interval;
  bool over_matrices = false;
};
inline constexpr std::size_t kBootstrapMatrices = 8;

struct SeriesResult {
  Series series;
  FaultCounts faults;
  DetectionCounts detections;
  MeasuredRate detected;  // of the injected ones that could be checked
  RatioCounts ratios{};   // D/T of the checks that a fault concerns
};

struct GateResult {
  std::string gate;
  CleanCounts clean;
  std::int64_t alarmed_matrices = 0, clean_matrices = 0;
  MeasuredRate alarms;     // rows with a false alarm
  double upper_bound = 1;  // of that rate, one-sided, at kConfidence
  double rms_z = 0;        // NaN where the gate has no sigma
  RatioCounts ratios{};    // the largest D/T of each clean row
  std::vector<SeriesResult> series;
};

struct CellResult {
  std::size_t cell = 0;
  std::int64_t matrices = 0;
  std::int64_t planned = 0;
  bool precise = false;  // the precision that was asked for is reached
  std::vector<GateResult> gates;
};

// A point of the ROC curve: the gate with its threshold times `multiple`.
struct RocPoint {
  double multiple, false_alarms, detections;
};
// From both histograms, for multiples at the edges of their bins between the first and last that
// change anything. Without clean rows or detections: empty.
std::vector<RocPoint> roc(const RatioCounts& clean, const RatioCounts& faults);

// Results of all cells from the blocks, which `load` gives. Cells with a precision use their blocks
// up to the first look that reaches it, and no others.
std::vector<CellResult> results_of(const Campaign& campaign,
                                   const std::function<BlockTally(const BlockAddress&)>& load);
// Of some matrices of one cell.
CellResult cell_result(const Plan& plan, std::size_t cell, const BlockTally& tally);

// Whether every rate of the cell is known to within its precision, at one of its looks.
bool is_precise(const Cell& cell, const CellResult& result);

}  // namespace assay::campaign
