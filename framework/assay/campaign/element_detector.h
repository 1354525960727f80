// One elementwise bound relative to the golden result, on one matrix of a campaign.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/campaign/checksum_detector.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2::campaign {

class ElementDetector {
 public:
  // `output` is the case's result and must outlive this object. It is compared with the case's
  // golden result, which is computed if the case has none. Throws Refusal, with the
  // reason, if the check cannot judge the output.
  ElementDetector(ElementCheck check, const Case& test_case, const Tensor& output);

  // True if the bound limits statistics of the whole output.
  bool limits_statistics() const { return !bound().limits.empty(); }

  // Judges the unchanged result. If the whole result fails, each row with a mismatch is a false
  // alarm. If the bound limits statistics, every row is then one. If the verdict is untrusted, all
  // rows count as not checkable. The ratio of a mismatch is error / bound, and the histogram has
  // the largest ratio of each row, or 0 for rows within their bounds. CleanCounts::worst is the
  // largest ratio of all elements.
  CleanCounts clean(RatioCounts& ratios) const;
  // Writes the bins of the flips of a census, as ChecksumDetector::census() does. The standard must
  // not limit statistics.
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Detection detect(std::span<const ElementChange> changes) const;

 private:
  ElementCheck check_;
  const Tensor* output_;
  Tensor golden_;
  std::int64_t m_, n_;
  const Bound& bound() const { return *check_.bound; }
  Verdict judged(const TensorView& output, std::size_t worst, bool ratios = false) const;
  // The members below describe the unchanged result.
  std::vector<std::uint8_t> missed_;  // for each element, 1 if it is a mismatch
  // The largest error / bound of the mismatches of each row, or 0 for a row without mismatches.
  std::vector<double> row_ratios_;
  double worst_ratio_ = 0;
  bool fails_ = false, untrusted_ = false;
  std::int64_t mismatches_ = 0, special_ = 0, forgiven_ = 0;
};

}  // namespace assay::campaign
