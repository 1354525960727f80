// One elementwise bound against the golden result, on one matrix of a campaign.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/campaign/checksum_gate.h"
#include "assay/judge/verdict.h"

namespace assay {

class ElementGate {
 public:
  // `output` is the case's result and outlives this. The golden result is computed here; the case's
  // own serves where assay does not emulate its operator.
  // `bounds`: of each element, float64 and of its shape, where the rule is kGiven.
  ElementGate(const Bound& bound, const Case& test_case, const Tensor& output,
              std::optional<Tensor> bounds = {});

  // Rows with a miss count as alarms where the whole result fails; where its verdict is untrusted
  // no row was checked. D/T: error / tolerance of misses, in the histogram 0 for what is within its
  // tolerance; the largest is that of all elements.
  CleanCounts clean(RatioCounts& ratios) const;
  // As ChecksumGate::census; of a standard without limits on statistics.
  void census(std::span<const int> bits, std::uint16_t* bins) const;
  Look look(std::span<const ElementChange> changes) const;

 private:
  Bound bound_;
  const Tensor* output_;
  Tensor golden_;
  std::optional<Tensor> bounds_;
  std::int64_t m_, n_;
  Verdict judged(const TensorView& output, std::size_t worst, bool ratios = false) const;
  // The result as it is.
  std::vector<std::uint8_t> missed_;  // an element
  std::vector<double> row_ratios_;    // the largest of each row's misses; 0 where it has none
  double worst_ratio_ = 0;
  bool fails_ = false, untrusted_ = false;
  std::int64_t misses_ = 0, special_ = 0, forgiven_ = 0;
};

}  // namespace assay
