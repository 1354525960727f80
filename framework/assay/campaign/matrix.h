// One matrix of a cell: its inputs, drawn or from a dataset, and its result on the cell's machine.
// Results of any shape are matrices here: as wide as their last dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "assay/campaign/plan.h"
#include "assay/cases/case.h"

namespace assay::campaign {

// Reads a case of a dataset file, with inputs and recorded outputs.
using CaseLoader = std::function<Case(const std::string& file, const std::string& name)>;

struct Matrix {
  Case test_case;
  Tensor output;
  Epilogue epilogue = {};  // where a gate of the cell takes residuals
};

// Whether a gate of the cell takes residuals.
bool takes_residuals(const Cell& cell);
// What the cell's machine has before it casts the result of a case, where a gate takes residuals;
// else nothing. Throws std::invalid_argument where the machine has none.
Epilogue emulated_epilogue(const Cell& cell, const Case& test_case);

// Elements of a result in its last dimension; of a scalar 1.
std::int64_t columns_of(const Tensor& output);

// Matrix `index` of the cell. The inputs depend on the plan's seed, the cell's dtype, shape,
// distributions and attributes (a product's do not), and the index alone: cells that differ in
// machine, output dtype, gates or faults see the same. Throws std::invalid_argument that names the
// cell where operator, machine and inputs do not fit.
Matrix make_matrix(const Plan& plan, const Cell& cell, std::int64_t index,
                   const CaseLoader& load = {});

// Sets `output` and `rows` of a drawn cell that is no product (Cell::is_product()) to those of its
// first result: what an operator returns is known to it alone. Throws std::invalid_argument where
// it cannot be drawn or computed.
void settle_result(const Plan& plan, Cell& cell);

}  // namespace assay::campaign
