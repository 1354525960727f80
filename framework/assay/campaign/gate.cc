#include "assay/campaign/gate.h"

#include <stdexcept>

#include "assay/base/text.h"
#include "assay/op/dot.h"

namespace assay {

MatrixGate::MatrixGate(const GateSpec& gate, const Cell& cell, const Matrix& matrix)
    : gate_(&gate), cell_(&cell) {
  try {
    if (gate.threshold) {
      AbftOptions options;
      options.spec = *gate.threshold;
      if (cell.recorded.empty()) {
        const MatrixUnit unit =
            matrix_unit({matrix.test_case, *cell.machine, matrix.output.format(), 1});
        if (unit.model) model_ = std::make_unique<DotModel>(*unit.model);
      }
      options.model = model_.get();
      checksums_.emplace(options, matrix.test_case, matrix.output);
    } else {
      elements_.emplace(*gate.bound, matrix.test_case, matrix.output);
    }
  } catch (const std::invalid_argument& e) {
    refuse(e.what());
  }
}

void MatrixGate::refuse(const char* why) const {
  throw std::invalid_argument(format("cell {}: gate {}: {}", cell_->name, gate_->text, why));
}

void MatrixGate::check_plan() const {
  if (!elements_ || gate_->bound->limits.empty()) return;
  for (const FaultPlan& fault : cell_->faults) {
    if (fault.census) {
      refuse(
          "it limits statistics of the whole output, which a census of single elements does "
          "not give; draw trials instead");
    }
  }
}

CleanCounts MatrixGate::clean(RatioCounts& ratios) const {
  return checksums_ ? checksums_->clean(ratios) : elements_->clean(ratios);
}

void MatrixGate::census(std::span<const int> bits, bool exact, std::uint16_t* bins) const {
  if (checksums_) {
    checksums_->census(bits, exact, bins);
  } else {
    elements_->census(bits, bins);
  }
}

Look MatrixGate::look(std::span<const ElementChange> changes) const {
  return checksums_ ? checksums_->look(changes) : elements_->look(changes);
}

}  // namespace assay
