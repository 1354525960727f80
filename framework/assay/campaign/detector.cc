#include "assay/campaign/detector.h"

#include <algorithm>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

// Returns the elementwise check of a detector for a matrix. This is the detector's standard, if it
// has one. For a dataset it is the bound of the case. For drawn inputs it is a derived tolerance.
ElementCheck element_check(const GateSpec& gate, const Cell& cell, const Matrix& matrix,
                           GateRequest request, const Origin& origin) {
  const Case& c = matrix.test_case;
  const Format& output = matrix.output.format();
  if (!gate.standard.empty()) {
    request.bounds.standards = {gate.standard};
    return element_checks(c, output, request, origin).front();
  }
  if (!cell.dataset.empty()) {
    const std::vector<ElementCheck> checks = element_checks(c, output, request, origin);
    if (checks.size() == 1) {
      ElementCheck own = checks.front();
      const auto is_census = [](const FaultPlan& fault) { return fault.census; };
      // `by_chance`, the check by the expected error, also limits the sum of the squares of all
      // errors. But a census judges one element at a time, so it does without that check.
      if (std::ranges::any_of(cell.faults, is_census)) own.by_chance = nullptr;
      return own;
    }
    refuse("case {} names {} standards, but a campaign takes one; name it, as in standard:{}",
           c.name, checks.size(), checks.front().standard);
  }
  // Machines whose accumulators have few bits have their own bounds, so the tolerance is derived
  // for the cell's machine.
  Case on_machine = c;
  on_machine.attributes.emplace("machine", std::string(cell.machine->name));
  Case words;  // a case with only a name and attributes
  words.name = c.name;
  words.attributes = c.attributes;
  for (const auto& [name, value] : derived_tolerance(on_machine).attributes()) {
    words.attributes[name] = value;
  }
  return element_checks(words, output, request, origin).front();
}

}  // namespace

MatrixDetector::MatrixDetector(const GateSpec& gate, const Cell& cell, const Matrix& matrix)
    : gate_(&gate), cell_(&cell) {
  const Case& c = matrix.test_case;
  GateRequest request{.threads = 1};
  Origin origin;
  if (cell.recorded.empty()) {
    origin.producer = origin.machine = cell.machine->name;
  } else {
    origin.producer = cell.recorded;
    if (cell.recorded_on_machine) request.machine = cell.machine;
  }
  try {
    if (gate.threshold) {
      request.checksums = gate.threshold;
      options_ = checksum_options(c, matrix.output.format(), request, origin);
      if (!options_.why_not.empty()) assay::refuse(options_.why_not);
      if (is_attention(c)) {
        attention_.emplace(options_.options, c, matrix.output);
        return;
      }
      checksums_.emplace(options_.options, c, matrix.output, matrix.epilogue);
    } else {
      elements_.emplace(element_check(gate, cell, matrix, request, origin), c, matrix.output);
    }
  } catch (const Refusal& e) {
    refuse(e.what());
  }
}

void MatrixDetector::refuse(const char* why) const {
  assay::refuse("cell {}: gate {}: {}", cell_->name, gate_->text, why);
}

void MatrixDetector::check_plan() const {
  if (!elements_ || !elements_->limits_statistics()) return;
  for (const FaultPlan& fault : cell_->faults) {
    if (fault.census) {
      refuse(
          "the standard limits statistics of the whole output, which a census of single elements "
          "does not give; draw trials instead");
    }
  }
}

CleanCounts MatrixDetector::clean(RatioCounts& ratios) const {
  if (attention_) return attention_->clean(ratios);
  return checksums_ ? checksums_->clean(ratios) : elements_->clean(ratios);
}

void MatrixDetector::census(std::span<const int> bits, bool exact, std::uint16_t* bins) const {
  if (attention_) {
    attention_->census(bits, bins);
  } else if (checksums_) {
    checksums_->census(bits, exact, bins);
  } else {
    elements_->census(bits, bins);
  }
}

Detection MatrixDetector::detect(std::span<const ElementChange> changes,
                                 std::span<const AccumulatorChange> before_cast) const {
  if (attention_) return attention_->detect(changes);
  return checksums_ ? checksums_->detect(changes, before_cast) : elements_->detect(changes);
}

}  // namespace assay::campaign
