// A gate of a cell on one matrix: a checksum threshold or an elementwise bound.
#pragma once

#include <optional>
#include <span>

#include "assay/campaign/attention_detector.h"
#include "assay/campaign/checksum_detector.h"
#include "assay/campaign/element_detector.h"
#include "assay/campaign/matrix.h"
#include "assay/gate/gate.h"

namespace assay::campaign {

class MatrixGate {
 public:
  // The matrix outlives this. Throws std::invalid_argument that names cell and gate.
  MatrixGate(const GateSpec& gate, const Cell& cell, const Matrix& matrix);

  // Throws std::invalid_argument where the cell's faults ask for what the gate cannot do.
  void check_plan() const;

  CleanCounts clean(RatioCounts& ratios) const;
  void census(std::span<const int> bits, bool exact, std::uint16_t* bins) const;
  // `before_cast`: elements whose accumulators the fault changed.
  Detection detect(std::span<const ElementChange> changes,
                   std::span<const AccumulatorChange> before_cast = {}) const;
  const ChecksumGate* checksums() const { return checksums_ ? &*checksums_ : nullptr; }

 private:
  [[noreturn]] void refuse(const char* why) const;
  const GateSpec* gate_;
  const Cell* cell_;
  ChecksumOptions options_;  // of checksums_ and attention_
  std::optional<ChecksumGate> checksums_;
  std::optional<AttentionGate> attention_;
  std::optional<ElementGate> elements_;
};

}  // namespace assay::campaign
