// One matrix of a cell: its operands, drawn or from a dataset, and its result on the cell's
// machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "assay/campaign/plan.h"
#include "assay/tensor/case.h"

namespace assay {

// Reads a case of a dataset file, with inputs and recorded outputs.
using CaseLoader = std::function<Case(const std::string& file, const std::string& name)>;

struct Matrix {
  Case test_case;
  Tensor output;
};

// Matrix `index` of the cell. The operands depend on the plan's seed, the cell's dtype, shape and
// distributions, and the index alone: cells that differ in machine, gates or faults see the same.
// Throws std::invalid_argument that names the cell where operator, machine and operands do not fit.
Matrix make_matrix(const Plan& plan, const Cell& cell, std::int64_t index,
                   const CaseLoader& load = {});

}  // namespace assay
