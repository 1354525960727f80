#include "assay/campaign/matrix.h"

#include <algorithm>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

// Every input is drawn from its own stream. The stream depends on all that determines the input.
void draw_matmul(const Plan& plan, const Cell& cell, std::int64_t index, Case& c) {
  const std::int64_t m = cell.shape[0], k = cell.shape[1], n = cell.shape[2];
  c.op = cell.op;
  c.attributes = cell.attributes;
  c.attributes["output_dtype"] = std::string(cell.output->name);
  const auto operand = [&](const char* name, const Format& f, const Shape& whole,
                           const Shape& shape) {
    const DistributionSpec& spec = cell.distribution_of(name);
    const std::string stream =
        formatted("{} {} {} {} {}", name, cell.dtype->name, shape_text(whole), spec.text(), index);
    c.inputs.emplace(name, draw(spec, f, shape, plan.seed, stream_of(stream), 1));
  };
  operand("a", *cell.dtype, {m, k}, {cell.rows_a_matrix(), k});
  operand("b", *cell.dtype, {k, n}, {k, n});
  if (cell.distributions.count("bias") != 0) operand("bias", *cell.output, {n}, {n});
}

// Operators draw the same values for inputs of the same name, if seed, dtype, sizes, distributions
// and attributes are equal.
Case generated(const Plan& plan, const Cell& cell, std::int64_t index) {
  Recipe recipe{.dtype = cell.dtype,
                .sizes = cell.shape,
                .attributes = cell.attributes,
                .distribution = cell.distribution,
                .distributions = cell.distributions,
                .threads = 1};
  std::string drawn_from = formatted("{} {} {} {}", plan.seed, cell.dtype->name,
                                     shape_text(cell.shape), cell.inputs_text());
  for (const auto& [name, value] : cell.attributes) {
    if (name != "output_dtype") drawn_from += formatted(" {}={}", name, attribute_text(value));
  }
  // the seed of a case must be below 2^63, so one bit is dropped
  recipe.seed = stream_of(formatted("{} {}", drawn_from, index)) >> 1;
  return generate_case(cell.op, recipe);
}

Case drawn_case(const Plan& plan, const Cell& cell, std::int64_t index) {
  Case c;
  if (cell.is_product()) {
    draw_matmul(plan, cell, index, c);
  } else {
    c = generated(plan, cell, index);
  }
  c.name = formatted("{}/{}", cell.name, index);
  return c;
}

}  // namespace

std::int64_t columns_of(const Tensor& output) {
  return output.shape().empty() ? 1 : output.shape().back();
}

bool takes_residuals(const Cell& cell) {
  return std::ranges::any_of(cell.gates, [](const GateSpec& gate) {
    return gate.threshold && gate.threshold->threshold->takes_residuals;
  });
}

Epilogue emulated_epilogue(const Cell& cell, const Case& c) {
  Epilogue epilogue;
  if (takes_residuals(cell)) epilogue.accumulator = emulate_accumulator(c, *cell.machine, 1);
  return epilogue;
}

Matrix make_matrix(const Plan& plan, const Cell& cell, std::int64_t index, const CaseLoader& load) {
  Matrix matrix;
  Case& c = matrix.test_case;
  try {
    if (cell.dataset.empty()) {
      c = drawn_case(plan, cell, index);
    } else {
      if (!load) refuse("datasets cannot be read here");
      c = load(cell.dataset, cell.cases[static_cast<std::size_t>(index)]);
      if (!cell.recorded.empty()) {
        CaseOutput& output = c.output();
        if (output.recorded_by(cell.recorded) == nullptr) {
          refuse("case {} has no results of {}", c.name, cell.recorded);
        }
        auto& recorded = output.recorded.at(cell.recorded);
        matrix.output = std::move(recorded.tensor);
        if (takes_residuals(cell)) matrix.epilogue = std::move(recorded.epilogue);
        return matrix;
      }
    }
    matrix.output = emulate(c, *cell.machine, 1);
    matrix.epilogue = emulated_epilogue(cell, c);
  } catch (const Refusal& e) {
    refuse("cell {}: {}", cell.name, e.what());
  }
  return matrix;
}

void settle_result(const Plan& plan, Cell& cell) {
  const Tensor output = emulate(drawn_case(plan, cell, 0), *cell.machine, 1);
  if (output.size() == 0) {
    refuse("{} of {} has no elements", cell.op, cell.sizes_text());
  }
  cell.output = &output.format();
  cell.rows = output.size() / columns_of(output);
}

}  // namespace assay::campaign
