// Checks of clean rows, counted as every gate by checksums counts them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "assay/abft/reading.h"
#include "assay/campaign/trial_tally.h"

namespace assay::campaign {

// The bin of a reading's D/T (simd/flips_kernel.h); kBinNotFinite where either is infinite or NaN.
std::uint16_t bin_of(const abft::Reading& reading);

class CleanRows {
 public:
  // Counts the bin of the largest D/T of each row in `ratios`, which outlives this.
  explicit CleanRows(RatioCounts& ratios) : ratios_(&ratios) {}

  // The readings of a row's checks. `is_wrong`: whether a flagged one of them is a fault, as
  // confirmation says; asked of no other.
  void add(std::span<const abft::Reading> readings,
           const std::function<bool(std::int64_t check)>& is_wrong);
  CleanCounts counts() const;

 private:
  RatioCounts* ratios_;
  CleanCounts counts_;
  abft::ZTally z_;
};

}  // namespace assay::campaign
