// From counts to rates: what a campaign's report says, with its intervals.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/campaign/engine.h"
#include "assay/campaign/rate_statistics.h"

namespace assay::campaign {

inline constexpr double kConfidence = 0.95;

// A rate with what is known of it: its clusters are matrices, whose trials are not independent.
using MeasuredRate = ClusteredRate;
// A precision is not believed of fewer matrices, nor is a coverage promised.
inline constexpr std::int64_t kPreciseMatrices = 8;

bool nothing_seen(const MeasuredRate& rate);
bool all_seen(const MeasuredRate& rate);
// One-sided bounds of a rate, by trials as if they were independent, and by matrices.
struct RateBounds {
  double by_trials, by_matrices;
};
RateBounds upper_bounds(const MeasuredRate& rate);
// Upper bounds if nothing was seen, otherwise lower bounds.
RateBounds bounds_of(const MeasuredRate& rate);

struct SeriesResult {
  Series series;
  FaultCounts faults;
  DetectionCounts detections;
  MeasuredRate detected;  // of the injected ones that could be checked
  RatioCounts ratios{};   // D/T of the checks that a fault concerns
};

// The faults of a cell that its plan puts into one class, together.
struct ClassResult {
  std::string name;
  FaultCounts faults;
  DetectionCounts detections;
  MeasuredRate detected;
};

struct GateResult {
  std::string gate;
  CleanCounts clean;
  std::int64_t alarmed_matrices = 0, clean_matrices = 0;
  MeasuredRate alarms;   // rows with a false alarm
  double rms_z = 0;      // NaN where the gate has no sigma
  RatioCounts ratios{};  // the largest D/T of each clean row
  std::vector<SeriesResult> series;
  std::vector<ClassResult> classes;

  // It alarms on at least half of the clean matrices: what it sees of faults says nothing.
  bool is_void() const { return alarmed_matrices > 0 && 2 * alarmed_matrices >= clean_matrices; }
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

// D/T of all of a gate's faults together. What was above a threshold and let through counts at the
// threshold itself, as not above it.
RatioCounts ratios_of_faults(const GateResult& gate);
// The curve of one gate by all of its faults. An elementwise one keeps no D/T of what is within its
// bound: its multiples begin at 1. Empty where no clean row, or no fault, could be checked.
std::vector<RocPoint> roc(const GateResult& gate);
// Whether a gate judges elements (a tolerance or a standard) instead of checksums.
bool is_elementwise(std::string_view gate);

// Results of all cells from the blocks, which `load` gives. Cells with a precision use their blocks
// up to the first look that reaches it, and no others.
std::vector<CellResult> results_of(const Campaign& campaign,
                                   const std::function<BlockTally(const BlockAddress&)>& load);
// Of some matrices of one cell.
CellResult cell_result(const Plan& plan, std::size_t cell, const BlockTally& tally);

// Whether every rate of the cell is known to within its precision, at one of its looks.
bool is_precise(const Cell& cell, const CellResult& result);

}  // namespace assay::campaign
