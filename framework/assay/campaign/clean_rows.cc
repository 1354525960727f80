#include "assay/campaign/clean_rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "assay/simd/flips_kernel.h"

namespace assay::inline v0_2::campaign {

std::uint16_t bin_of(const abft::Reading& r) {
  if (!std::isfinite(r.difference) || !std::isfinite(r.threshold)) return simd::kBinNotFinite;
  return simd::ratio_bin(abft::ratio_of(r), r.flagged());
}

void CleanRows::add(std::span<const abft::Reading> readings,
                    const std::function<bool(std::int64_t check)>& is_wrong) {
  bool alarm = false, dismissed = false, checkable = false;
  std::uint16_t bin = 0;
  for (std::size_t check = 0; check < readings.size(); ++check) {
    const abft::Reading& r = readings[check];
    ++counts_.checks;
    if (!r.checkable) continue;
    checkable = true;
    z_.add(r);
    counts_.worst = std::max(counts_.worst, abft::ratio_of(r));
    bin = std::max(bin, bin_of(r));
    if (!r.flagged()) continue;
    const bool wrong = is_wrong(static_cast<std::int64_t>(check));
    alarm = alarm || wrong;
    dismissed = dismissed || !wrong;
  }
  ++counts_.rows;
  counts_.not_checkable += checkable ? 0 : 1;
  counts_.alarms += alarm ? 1 : 0;
  counts_.dismissed += dismissed && !alarm ? 1 : 0;
  if (checkable) ++(*ratios_)[bin];
}

CleanCounts CleanRows::counts() const {
  CleanCounts counts = counts_;
  counts.z_square = z_.square;
  counts.measured = z_.measured;
  return counts;
}

}  // namespace assay::campaign
