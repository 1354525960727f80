// The orders of summation that a search tries: the parametric families of machine/sum_plan.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/machine/sum_plan.h"

namespace assay::inline v0_2::identify {

// A tree of additions, and the formats to which its sums are rounded, to nearest even: `sums` for
// the first stage and, if the plan has blocks, `second` for the second stage.
struct SumOrderModel {
  SumPlan plan;
  const Format* sums = nullptr;
  const Format* second = nullptr;  // equals `sums` if the plan has no blocks
};

// Return the parameters of reduce_sum that request the model, as a map and as one line.
std::map<std::string, Attribute> sum_order_parameters(const SumOrderModel& model);
std::string sum_order_text(const SumOrderModel& model);

// Returns a hash of the model's tree over n terms and of the formats of its nodes. It does not
// depend on the parameters that describe the tree, nor on the order of the two operands of an
// addition. Models with the same hash give the same sums, except for a chance of about 2^-60.
std::uint64_t sum_order_tree(const SumOrderModel& model, std::int64_t n);

// The stages that a search tries for sums of up to n terms. Likely stages come first.
struct SumOrderSpace {
  explicit SumOrderSpace(std::int64_t n);

  std::vector<SumStage> whole;       // stages for sums that have only one stage
  std::vector<std::int64_t> blocks;  // lengths of blocks
  // Stages that sum a block, and stages that sum the blocks' sums.
  std::vector<SumStage> in_block, second;
};

}  // namespace assay::identify
