// The orders of summation that a search tries: the parametric families of machine/sum_plan.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/machine/sum_plan.h"

namespace assay::identify {

// A tree, and the formats that its sums are rounded to, to nearest even: those of the first stage
// and, of a plan with blocks, those of the second.
struct SumOrderModel {
  SumPlan plan;
  const Format* sums = nullptr;
  const Format* second = nullptr;  // `sums` where the plan has no blocks
};

// The parameters of reduce_sum that ask for the model, and the same as one line.
std::map<std::string, Attribute> sum_order_parameters(const SumOrderModel& model);
std::string sum_order_text(const SumOrderModel& model);

// A number for the tree over n terms and the formats of its nodes, whatever the parameters that
// describe it and the order of the two operands of an addition: models that have the same one give
// the same sums (but for one chance in some 2^60 that others do, too).
std::uint64_t sum_order_tree(const SumOrderModel& model, std::int64_t n);

// The stages that are tried, likely ones first, for up to n terms.
struct SumOrderSpace {
  explicit SumOrderSpace(std::int64_t n);

  std::vector<SumStage> whole;             // of sums of one stage
  std::vector<std::int64_t> blocks;        // lengths of blocks,
  std::vector<SumStage> in_block, second;  // what sums them, and what sums their sums
};

}  // namespace assay::identify
