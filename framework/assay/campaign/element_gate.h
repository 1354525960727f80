// One elementwise standard against the golden result, on one matrix of a campaign.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/campaign/checksum_gate.h"

namespace assay {

class ElementGate {
 public:
  // `output` is the case's result and outlives this; the golden result is computed here.
  ElementGate(const Bound& bound, const Case& test_case, const Tensor& output);

  // Rows with a miss count as alarms where the whole result fails. D/T: error / tolerance of
  // misses; what is within its tolerance counts as 0.
  CleanCounts clean(RatioCounts& ratios) const;
  // As ChecksumGate::census; of a standard without limits on statistics.
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Look look(std::span<const ElementChange> changes) const;

 private:
  Bound bound_;
  const Tensor* output_;
  Tensor golden_;
  std::int64_t m_, n_;
  std::vector<std::uint8_t> missed_;  // elements as they are
  std::int64_t misses_ = 0, special_ = 0, forgiven_ = 0;
};

}  // namespace assay
