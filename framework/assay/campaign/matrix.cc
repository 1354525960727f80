#include "assay/campaign/matrix.h"

#include <stdexcept>

#include "assay/base/text.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

Tensor operand(const Plan& plan, const Cell& cell, const char* name, const DistributionSpec& spec,
               const Shape& whole, const Shape& shape, std::int64_t index) {
  const std::string stream =
      format("{} {} {} {} {}", name, cell.dtype->name, shape_text(whole), spec.text(), index);
  return draw(spec, *cell.dtype, shape, plan.seed, stream_of(stream), 1);
}

}  // namespace

Matrix make_matrix(const Plan& plan, const Cell& cell, std::int64_t index, const CaseLoader& load) {
  Matrix matrix;
  Case& c = matrix.test_case;
  try {
    if (!cell.dataset.empty()) {
      if (!load) throw std::invalid_argument("datasets cannot be read here");
      c = load(cell.dataset, cell.case_name);
      if (!cell.recorded.empty()) {
        const auto found = c.outputs.find(cell.recorded);
        if (found == c.outputs.end()) {
          throw std::invalid_argument(
              format("case {} has no results of {}", c.name, cell.recorded));
        }
        matrix.output = std::move(found->second);
        return matrix;
      }
    } else {
      const std::int64_t m = cell.shape[0], k = cell.shape[1], n = cell.shape[2];
      c.name = format("{}/{}", cell.name, index);
      c.op = cell.op;
      c.attributes = cell.attributes;
      c.attributes["output_dtype"] = std::string(cell.output->name);
      c.inputs.emplace("a",
                       operand(plan, cell, "a", cell.a, {m, k}, {cell.rows_a_matrix(), k}, index));
      c.inputs.emplace("b", operand(plan, cell, "b", cell.b, {k, n}, {k, n}, index));
    }
    matrix.output = emulate(c, *cell.machine, 1);
  } catch (const std::invalid_argument& e) {
    throw std::invalid_argument(format("cell {}: {}", cell.name, e.what()));
  }
  return matrix;
}

}  // namespace assay
