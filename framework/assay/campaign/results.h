// Turns counts into rates: the numbers of a campaign's report, with their intervals.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/campaign/engine.h"
#include "assay/campaign/rate_statistics.h"

namespace assay::inline v0_2::campaign {

inline constexpr double kConfidence = 0.95;

// A rate and its uncertainty. The matrices are its clusters, because trials in one matrix are not
// independent.
using MeasuredRate = ClusteredRate;
// Below this number of matrices no precision counts as reached, because the coverage of the
// intervals is not guaranteed.
inline constexpr std::int64_t kPreciseMatrices = 8;

bool nothing_seen(const MeasuredRate& rate);
bool all_seen(const MeasuredRate& rate);
// True if no event, or only events, were seen, so that the rate has a bound instead of an interval.
bool is_bounded(const MeasuredRate& rate);
// One-sided bounds of a rate. `by_trials` treats the trials as independent. `by_matrices` treats
// each matrix as one that fails as a whole.
struct RateBounds {
  double by_trials, by_matrices;
};
RateBounds upper_bounds(const MeasuredRate& rate);
// Returns upper bounds if nothing was detected, and lower bounds otherwise.
RateBounds bounds_of(const MeasuredRate& rate);

// The detections of one detector among some faults.
struct SeenFaults {
  FaultCounts faults;
  DetectionCounts detections;
  MeasuredRate detected;  // the rate among the injected faults that could be checked
};
struct SeriesResult : SeenFaults {
  Series series;
  RatioCounts ratios{};  // difference / threshold of the checks that cover a fault
};
// All faults of a cell that the plan puts into one class.
struct ClassResult : SeenFaults {
  std::string name;
};

struct GateResult {
  std::string gate = {};
  CleanCounts clean = {};
  std::int64_t alarmed_matrices = 0, clean_matrices = 0;
  MeasuredRate alarms = {};  // the rate of clean rows with a false alarm
  // Root mean square of z = difference / sigma over all checks, NaN if the detector has no sigma.
  double rms_z = 0;
  RatioCounts ratios{};  // the largest difference / threshold of each clean row
  std::vector<SeriesResult> series = {};
  std::vector<ClassResult> classes = {};

  // True if the detector raises alarms on at least half of the clean matrices. Then its detections
  // mean nothing.
  bool is_void() const { return alarmed_matrices > 0 && 2 * alarmed_matrices >= clean_matrices; }
};

struct CellResult {
  std::size_t cell = 0;
  std::int64_t matrices = 0;
  std::int64_t planned = 0;
  bool precise = false;  // the requested precision is reached
  std::vector<GateResult> gates = {};
};

// A point of the ROC curve: the detector with its threshold times `multiple`.
struct RocPoint {
  double multiple, false_alarms, detections;
};
// Returns the curve from both histograms, with multiples at the edges of their bins. If
// several multiples have the same rates, only the largest is listed. Empty without clean rows or
// without faults.
std::vector<RocPoint> roc(const RatioCounts& clean, const RatioCounts& faults);

// Returns the histogram of difference / threshold of all faults of a detector. Dismissed faults
// count in the bin of the threshold, as not above it.
RatioCounts ratios_of_faults(const GateResult& gate);
// Returns the ROC curve of one detector for all of its faults. An elementwise detector has no error
// / bound for elements within their bounds, so its multiples begin at 1. Empty if no clean row, or
// no fault, could be checked.
std::vector<RocPoint> roc(const GateResult& gate);
// True if a detector judges elements (by a tolerance or a standard) instead of checksums.
bool is_elementwise(std::string_view gate);

// Returns the results of all cells from their blocks, which `load` returns. Cells with a precision
// use only the blocks up to the first check that reaches it.
std::vector<CellResult> results_of(const Campaign& campaign,
                                   const std::function<BlockTally(const BlockAddress&)>& load);
// Returns the result for some matrices of one cell.
CellResult cell_result(const Plan& plan, std::size_t cell, const BlockTally& tally);

// True if every detection rate of the cell is known to within the cell's precision, from at least
// kPreciseMatrices matrices. Call it after a block with Campaign::is_look().
bool is_precise(const Cell& cell, const CellResult& result);

}  // namespace assay::campaign
