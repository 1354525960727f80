#include "assay/op/accumulation.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay {

SumBounds sum_bounds(const Case& c, const DotModel& model, std::int64_t m, std::int64_t n,
                     std::int64_t k, const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, int threads) {
  const std::string why = why_no_sum_bounds(model, k, !start.empty());
  if (!why.empty()) throw CaseError(c.name, format("no bound of accumulation: {}", why));
  return sum_bounds(model, m, n, k, a, b, start, threads);
}

Tensor accumulation_bounds(const Case& c, const Machine& machine, int threads) {
  const Operator* op = find_operator(c.op);
  if (op != nullptr && op->element_bounds != nullptr) {
    check_parameters(c, *op);
    return op->element_bounds(c, machine, threads);
  }
  std::vector<std::string> known;
  for (const Operator& row : operators()) {
    if (row.element_bounds != nullptr) known.push_back(row.name);
  }
  const std::string last = known.back();
  known.pop_back();
  throw CaseError(
      c.name,
      format("the bound of accumulation is known for {} and {}, not {}{}", joined(known), last,
             c.op.empty() ? "a case without an operator" : c.op,
             op == nullptr || op->no_element_bounds.empty() ? "" : ": " + op->no_element_bounds));
}

void require_matrix_unit(const Case& c, const Machine& machine) {
  if (machine.has_matrix_unit()) return;
  throw CaseError(
      c.name,
      format("machine {} is the reference and has no matrix unit whose sums could be bounded; name "
             "another, as in accumulation(hopper)",
             machine.name));
}

const Machine* machine_of(const Case& c) {
  const auto word = c.text("machine");
  if (!word) return nullptr;
  const Machine& machine = machine_named(*word);
  return machine.has_matrix_unit() ? &machine : nullptr;
}

DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds) {
  const double rtol = unit_roundoff(output);
  const double most = bounds.empty() ? 0 : *std::max_element(bounds.begin(), bounds.end());
  return {rtol, (1 + rtol) * most + min_subnormal(output) / 2,
          format("rtol: half a {} ulp; atol: the largest bound of accumulation on {}", output.name,
                 machine.name)};
}

}  // namespace assay
