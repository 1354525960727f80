// The checksums of attention on one matrix of a campaign: all matrices of its batch, one below the
// other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/abft/attention_check.h"
#include "assay/campaign/checksum_detector.h"

namespace assay::campaign {

class AttentionGate {
 public:
  // `test_case` and its result `output` outlive this. Throws std::invalid_argument where the
  // threshold cannot judge it, with the reason.
  AttentionGate(const AbftOptions& options, const Case& test_case, const Tensor& output);

  // As those of ChecksumGate.
  CleanCounts clean(RatioCounts& ratios) const;
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Detection detect(std::span<const ElementChange> changes) const;

 private:
  std::vector<double> values_of(std::int64_t row) const;

  abft::AttentionRows rows_;
  const Tensor* output_;
};

}  // namespace assay::campaign
