// Counts the checks of clean rows. All checksum detectors count them in this way.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "assay/abft/reading.h"
#include "assay/campaign/trial_tally.h"

namespace assay::inline v0_2::campaign {

// Returns the bin of a reading's ratio D/T, which is its difference divided by its threshold
// (simd/flips_kernel.h). Returns kBinNotFinite if D or T is infinite or NaN.
std::uint16_t bin_of(const abft::Reading& reading);

class CleanRows {
 public:
  // Counts the bin of the largest difference / threshold of each row in `ratios`, which must
  // outlive this object.
  explicit CleanRows(RatioCounts& ratios) : ratios_(&ratios) {}

  // Adds the readings of a row's checks. is_wrong() returns true if confirmation finds a flagged
  // check to be a fault. It is called only for flagged checks.
  void add(std::span<const abft::Reading> readings,
           const std::function<bool(std::int64_t check)>& is_wrong);
  CleanCounts counts() const;

 private:
  RatioCounts* ratios_;
  CleanCounts counts_;
  abft::ZTally z_;
};

}  // namespace assay::campaign
