// One elementwise bound against the golden result, on one matrix of a campaign.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/campaign/checksum_detector.h"
#include "assay/gate/gate.h"

namespace assay::campaign {

class ElementGate {
 public:
  // `output` is the case's result and outlives this. It is held against the case's golden result,
  // which is computed where the case has none. Throws std::invalid_argument with the reason where
  // the check cannot judge it.
  ElementGate(ElementCheck check, const Case& test_case, const Tensor& output);

  // Whether it limits statistics of the whole output.
  bool limits_statistics() const { return !bound().limits.empty(); }

  // Rows with a miss count as alarms where the whole result fails; where its verdict is untrusted
  // no row was checked. D/T: error / tolerance of misses, in the histogram 0 for what is within its
  // tolerance; the largest is that of all elements.
  CleanCounts clean(RatioCounts& ratios) const;
  // As ChecksumGate::census; of a standard without limits on statistics.
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Detection detect(std::span<const ElementChange> changes) const;

 private:
  ElementCheck check_;
  const Tensor* output_;
  Tensor golden_;
  std::int64_t m_, n_;
  const Bound& bound() const { return *check_.bound; }
  Verdict judged(const TensorView& output, std::size_t worst, bool ratios = false) const;
  // The result as it is.
  std::vector<std::uint8_t> missed_;  // an element
  std::vector<double> row_ratios_;    // the largest of each row's misses; 0 where it has none
  double worst_ratio_ = 0;
  bool fails_ = false, untrusted_ = false;
  std::int64_t misses_ = 0, special_ = 0, forgiven_ = 0;
};

}  // namespace assay::campaign
