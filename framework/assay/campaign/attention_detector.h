// Checks attention by checksums, for one matrix of a campaign. That matrix holds all matrices of
// the batch, one below the other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "assay/abft/attention_check.h"
#include "assay/campaign/checksum_detector.h"

namespace assay::inline v0_2::campaign {

class AttentionDetector {
 public:
  // `test_case` and its result `output` must outlive this object. Throws Refusal,
  // with the reason, if the threshold cannot judge the case.
  AttentionDetector(const AbftOptions& options, const Case& test_case, const Tensor& output);

  // These functions do for attention what the functions of the same names in ChecksumDetector do
  // for a product.
  CleanCounts clean(RatioCounts& ratios) const;
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Detection detect(std::span<const ElementChange> changes) const;

 private:
  std::vector<double> values_of(std::int64_t row) const;

  abft::AttentionRows rows_;
  const Tensor* output_;
};

}  // namespace assay::campaign
