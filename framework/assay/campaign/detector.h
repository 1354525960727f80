// A detector of a cell on one matrix: a checksum threshold or an elementwise bound.
#pragma once

#include <optional>
#include <span>

#include "assay/campaign/attention_detector.h"
#include "assay/campaign/checksum_detector.h"
#include "assay/campaign/element_detector.h"
#include "assay/campaign/matrix.h"
#include "assay/gate/gate.h"

namespace assay::inline v0_2::campaign {

class MatrixDetector {
 public:
  // Makes the detector for one matrix, which must outlive this object. Throws Refusal, which names
  // the cell and the detector.
  MatrixDetector(const GateSpec& gate, const Cell& cell, const Matrix& matrix);

  // Throws Refusal if the detector cannot handle the cell's faults.
  void check_plan() const;

  CleanCounts clean(RatioCounts& ratios) const;
  void census(std::span<const int> bits, bool exact, std::uint16_t* bins) const;
  // Judges the changed result. `before_cast` has the elements whose accumulators the fault changed
  // before the cast.
  Detection detect(std::span<const ElementChange> changes,
                   std::span<const AccumulatorChange> before_cast = {}) const;
  const ChecksumDetector* checksums() const { return checksums_ ? &*checksums_ : nullptr; }

 private:
  [[noreturn]] void refuse(const char* why) const;
  const GateSpec* gate_;
  const Cell* cell_;
  ChecksumOptions options_;  // the options of checksums_ and attention_
  std::optional<ChecksumDetector> checksums_;
  std::optional<AttentionDetector> attention_;
  std::optional<ElementDetector> elements_;
};

}  // namespace assay::campaign
