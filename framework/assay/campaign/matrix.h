// One matrix of a cell: its inputs, drawn or from a dataset, and its result on the cell's machine.
// Results of any shape count as matrices as wide as their last dimension.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "assay/campaign/plan.h"
#include "assay/cases/case.h"

namespace assay::inline v0_2::campaign {

// Reads a case of a dataset file, with its inputs and recorded outputs.
using CaseLoader = std::function<Case(const std::string& file, const std::string& name)>;

struct Matrix {
  Case test_case = {};
  Tensor output = {};
  // The accumulator or the residual, or empty if no detector of the cell takes residuals.
  Epilogue epilogue = {};
};

// True if a detector of the cell uses residuals, which only the accumulator before the cast gives.
bool takes_residuals(const Cell& cell);
// Returns the result of a case on the cell's machine before its cast, if a detector takes
// residuals. If not, returns an empty epilogue. Throws Refusal if the machine has no
// accumulator.
Epilogue emulated_epilogue(const Cell& cell, const Case& test_case);

// Returns the number of elements in the last dimension of a result, 1 for a scalar.
std::int64_t columns_of(const Tensor& output);

// Makes matrix `index` of the cell. The inputs depend only on the index, the plan's seed, and the
// cell's dtype, shape, distributions and attributes. The inputs of a product do not depend on the
// attributes. So cells that differ in machine, output dtype, detectors or faults have the same
// inputs, except that the bias of a product is rounded to the output dtype. Throws Refusal, which
// names the cell, if operator, machine and inputs do not fit.
Matrix make_matrix(const Plan& plan, const Cell& cell, std::int64_t index,
                   const CaseLoader& load = {});

// Sets `output` and `rows` of a drawn cell that is not a product (Cell::is_product()). Takes them
// from its first result, because only the operator knows what it returns. Throws
// Refusal if that result cannot be drawn or computed.
void settle_result(const Plan& plan, Cell& cell);

}  // namespace assay::campaign
