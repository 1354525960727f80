// The counts of a campaign. They are whole numbers, and float64 sums that are kept for each matrix.
// The total therefore does not depend on how or in which order the work was divided.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/campaign/plan.h"
#include "assay/simd/flips_kernel.h"

namespace assay::inline v0_2::campaign {

// The counts of checks by difference / threshold, and of checks without such a ratio, in the bins
// of simd/flips_kernel.h.
using RatioCounts = std::array<std::int64_t, simd::kBinMasked>;
// Returns the sum of the counts in the bins above `bin`.
std::int64_t above(const RatioCounts& counts, int bin);
// Returns the upper edge of a bin, which is a ratio difference / threshold.
double ratio_edge(int bin);

// Faults that are counted together: those of one bit and direction of a census, or drawn ones.
struct Series {
  std::size_t fault = 0;  // index into the faults of the cell's plan
  int bit = -1;           // -1 for drawn faults
  fault::Direction direction = fault::Direction::kEither;
  std::string text() const;  // "bit 7, 0 to 1"
};
// Returns "0 to 1" or "1 to 0".
std::string_view direction_text(fault::Direction direction);
// Returns all series of a cell in the order of its tallies. A census has its bits in ascending
// order, first from 0 to 1, then from 1 to 0. If the plan names no bits, it has all bits of the
// format.
std::vector<Series> series_of(const Cell& cell);

// Counts for the unchanged result of one matrix and one detector.
struct CleanCounts {
  // All rows, and those of them with a false alarm. If the detector also checks columns, these
  // count as rows, too.
  std::int64_t rows = 0, alarms = 0;
  std::int64_t not_checkable = 0;  // rows without a checkable check
  // Rows with a check above its threshold, but without an alarm, because all elements of the check
  // are inside their bounds.
  std::int64_t dismissed = 0;
  // All checks, and those of them that have a z (difference / sigma).
  std::int64_t checks = 0, measured = 0;
  double z_square = 0, worst = 0;  // sum of z^2, and the largest difference / threshold
};

// Faults of one series in one matrix. Faults that could not be injected, or that changed no value
// (masked), are not part of `injected`. The detection rate is detected / (injected -
// not_checkable).
struct FaultCounts {
  std::int64_t injected = 0, masked = 0, not_injectable = 0, not_finite = 0;
};
// Counts of what one detector did with the faults of FaultCounts.
struct DetectionCounts {
  std::int64_t detected = 0, dismissed = 0, not_checkable = 0;
};

// Add the counts of one matrix to a sum.
void add(CleanCounts& to, const CleanCounts& counts);
void add(FaultCounts& to, const FaultCounts& counts);
void add(DetectionCounts& to, const DetectionCounts& counts);

struct MatrixTally {
  std::vector<CleanCounts> clean;           // for each detector
  std::vector<FaultCounts> faults;          // for each series
  std::vector<DetectionCounts> detections;  // series x detectors
};

// The counts of consecutive matrices of a cell, which are computed and stored together.
struct BlockTally {
  std::vector<MatrixTally> matrices;
  std::vector<RatioCounts> clean_ratios;  // for each detector
  std::vector<RatioCounts> fault_ratios;  // series x detectors
};

// The position of a block in its plan. block_text() writes a block as text, with its position, the
// fingerprint of its plan and a check value. parse_block() reads it. Throws std::runtime_error,
// which describes the error in the text.
struct BlockAddress {
  std::int64_t index = 0;  // the block's number among all blocks of the plan
  std::size_t cell = 0;
  std::int64_t first = 0, last = 0;  // matrices [first, last)
};
std::string block_text(const BlockAddress& address, std::string_view fingerprint,
                       const BlockTally& tally);
BlockTally parse_block(std::string_view text, const BlockAddress& address,
                       std::string_view fingerprint);

// Appends the matrices of b to those of a, and adds its histograms.
void append(BlockTally& a, BlockTally&& b);

}  // namespace assay::campaign
