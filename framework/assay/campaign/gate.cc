#include "assay/campaign/gate.h"

#include <stdexcept>

#include "assay/base/text.h"
#include "assay/op/accumulation.h"
#include "assay/op/dot.h"
#include "assay/op/operator.h"

namespace assay {

namespace {

// The case's own rtol and atol, with its words on NaN and infinity, as `assay gate` takes them. Of
// drawn inputs they are derived; a dataset's case brings them.
Bound own_tolerance(const Cell& cell, const Case& c, const Format& output) {
  Case words;  // attributes alone
  words.name = c.name;
  words.attributes = c.attributes;
  if (cell.dataset.empty()) {
    Case on_machine = c;  // accumulators of few bits have bounds of their own
    on_machine.attributes.emplace("machine", std::string(cell.machine->name));
    for (const auto& [name, value] : derived_tolerance(on_machine).attributes()) {
      words.attributes[name] = value;
    }
  } else if (c.attributes.count("rtol") == 0 && c.attributes.count("atol") == 0) {
    throw std::invalid_argument(format(
        "case {} has neither rtol nor atol; `assay golden --tolerance` gives it both", c.name));
  }
  const ChosenBound chosen =
      choose_bounds(cell.dataset.empty() ? words : c, output, BoundRequest{}).front();
  if (!chosen.bound) throw std::invalid_argument(chosen.why_not);
  return *chosen.bound;
}

}  // namespace

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
      const Case& c = matrix.test_case;
      const Bound bound = gate.bound ? *gate.bound : own_tolerance(cell, c, matrix.output.format());
      std::optional<Tensor> bounds;
      if (bound.rule == Rule::kGiven) {
        const std::string producer =
            cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded;
        bounds = accumulation_bounds(c, accumulation_machine(c, bound.machine, producer), 1);
      }
      elements_.emplace(bound, c, matrix.output, std::move(bounds));
    }
  } catch (const std::invalid_argument& e) {
    refuse(e.what());
  }
}

void MatrixGate::refuse(const char* why) const {
  throw std::invalid_argument(format("cell {}: gate {}: {}", cell_->name, gate_->text, why));
}

void MatrixGate::check_plan() const {
  if (!elements_ || !gate_->bound || gate_->bound->limits.empty()) return;
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
