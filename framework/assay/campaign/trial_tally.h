// What a campaign counts. Whole numbers, and float64 sums kept matrix by matrix, so that the total
// does not depend on who counted what in which order.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/campaign/plan.h"
#include "assay/simd/flips_kernel.h"

namespace assay::campaign {

// D/T of many checks, and what was no ratio: the bins of simd/flips_kernel.h.
using RatioCounts = std::array<std::int64_t, simd::kBinMasked>;
// Those above `multiple` times the threshold, which must be an edge 2^(k/8) or near one.
std::int64_t above(const RatioCounts& counts, int bin);
// The upper edge of a bin.
double ratio_edge(int bin);

// Faults that are counted together: those of one bit and direction of a census, or drawn ones.
struct Series {
  std::size_t fault = 0;  // of the cell's faults
  int bit = -1;           // -1: drawn
  fault::Direction direction = fault::Direction::kEither;
  std::string text() const;  // "bit 7, 0 to 1"
};
// All of a cell, in the order of its tallies: of a census the bits upward in one direction, then in
// the other; all that carry a value where the plan names none.
std::vector<Series> series_of(const Cell& cell);

// Clean results of one matrix through one gate.
struct CleanCounts {
  std::int64_t rows = 0, alarms = 0;  // rows looked at, and those with a check above its threshold
  std::int64_t not_checkable = 0;     // rows whose checksum is NaN or infinite
  std::int64_t dismissed = 0;         // rows above a threshold, clean element by element
  std::int64_t checks = 0, measured = 0;  // measured: those with a z
  double z_square = 0, worst = 0;         // sum of z^2; largest D/T
};

// Faults of one series in one matrix. What could not be injected, and what changed no value, is
// counted apart: a rate is detected / injected.
struct FaultCounts {
  std::int64_t injected = 0, masked = 0, not_injectable = 0, not_finite = 0;
};
// The same through one gate.
struct DetectionCounts {
  std::int64_t detected = 0, dismissed = 0, not_checkable = 0;
};

// What one matrix counts, added to that of others.
void add(CleanCounts& to, const CleanCounts& counts);
void add(FaultCounts& to, const FaultCounts& counts);
void add(DetectionCounts& to, const DetectionCounts& counts);

struct MatrixTally {
  std::vector<CleanCounts> clean;           // a gate
  std::vector<FaultCounts> faults;          // a series
  std::vector<DetectionCounts> detections;  // series x gates
};

// Consecutive matrices of a cell.
struct BlockTally {
  std::vector<MatrixTally> matrices;
  std::vector<RatioCounts> clean_ratios;  // a gate
  std::vector<RatioCounts> fault_ratios;  // series x gates
};

// A block in text, with what it belongs to and a check over all of it; and back. Throws
// std::runtime_error that says what is wrong with the text.
struct BlockAddress {
  std::int64_t index = 0;  // among all blocks of the plan
  std::size_t cell = 0;
  std::int64_t first = 0, last = 0;  // matrices [first, last)
};
std::string block_text(const BlockAddress& address, std::string_view fingerprint,
                       const BlockTally& tally);
BlockTally parse_block(std::string_view text, const BlockAddress& address,
                       std::string_view fingerprint);

// Adds b's matrices behind a's.
void append(BlockTally& a, BlockTally&& b);

}  // namespace assay::campaign
