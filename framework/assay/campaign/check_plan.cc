#include "assay/campaign/check_plan.h"

#include <algorithm>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/text.h"
#include "assay/campaign/matrix.h"
#include "assay/judge/bound.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

// Finds the format of the result if the file does not name it.
void find_output(const Plan& plan, Cell& cell) {
  if (!cell.dataset.empty()) return;
  if (!cell.is_product()) return settle_result(plan, cell);
  const std::string problem = parameter_problem(*find_operator(cell.op), cell.attributes);
  if (!problem.empty()) refuse(problem);
  if (cell.output != nullptr) return;
  Case c;
  c.op = cell.op;
  c.unread_inputs["a"] = c.unread_inputs["b"] = cell.dtype;
  cell.output = &output_format(c);
}

void check_gate(const GateSpec& gate, const Format& output) {
  if (gate.threshold || gate.text == "tolerance") return;
  if (standard_bound(gate.standard, output, 1)) return;
  refuse("the standard {} has no rule for outputs of {}; choose another standard", gate.standard,
         output.name);
}

// Parses the bits that a census flips. Returns them in ascending order, without duplicates.
std::vector<int> read_bits(const std::vector<std::string>& words, const Format& output) {
  std::vector<int> bits;
  for (const std::string& word : words) {
    const std::optional<int> bit = read_number<int>(word);
    if (!bit || *bit < output.padding || *bit >= output.padding + output.bits) {
      refuse("'bits' are whole numbers from {} to {} for {}, not {}", output.padding,
             output.padding + output.bits - 1, output.name, word);
    }
    bits.push_back(*bit);
  }
  std::ranges::sort(bits);
  bits.erase(std::unique(bits.begin(), bits.end()), bits.end());
  return bits;
}

}  // namespace

Plan check_plan(UncheckedPlan unchecked) {
  Plan plan = std::move(unchecked.plan);
  for (UncheckedCell& from : unchecked.cells) {
    Cell& cell = from.cell;
    at_place(from.place, [&] {
      find_output(plan, cell);
      for (const GateSpec& gate : cell.gates) check_gate(gate, *cell.output);
    });
    for (std::size_t f = 0; f < cell.faults.size(); ++f) {
      at_place(formatted("{}: fault {}", from.place, f + 1), [&] {
        if (!cell.faults[f].fault.output.empty()) {
          refuse(
              "output= is only for single faults in recorded outputs, and a campaign breaks the "
              "output that the operator computes; leave it out");
        }
        cell.faults[f].bits = read_bits(from.bits[f], *cell.output);
      });
    }
    at_place(from.place, [&] { check_cell(cell); });
    plan.cells.push_back(std::move(cell));
  }
  // The fingerprint covers only what the plan computes. Comments and the order of keys in the file
  // do not change it.
  set_fingerprint(plan, unchecked.digests);
  return plan;
}

}  // namespace assay::campaign
