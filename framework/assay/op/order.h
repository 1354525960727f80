// The order in which an operator adds its sums: the parameters `order` and `block_size`, the
// parameters of the trees of reductions, and the number of roundings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine/sum_plan.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {

// Returns `own` and then the parameters that sum_order() reads, order and block_size, as an
// operator lists them.
std::vector<Parameter> order_parameters(std::vector<Parameter> own);
// Returns `own` and then the parameters of reductions. These are order_parameters() with the orders
// lanes and halves, sum_dtype, and the fields of a SumPlan, such as those of a second stage, by
// name.
std::vector<Parameter> plan_parameters(std::vector<Parameter> own);
// Returns the parameters that select this plan, except those that have their default. The formats
// of sums are separate parameters: sum_dtype, and second_dtype if the plan has blocks.
std::map<std::string, Attribute> plan_attributes(const SumPlan& plan);

struct SumOrder {
  ReduceOrder order = ReduceOrder::kPairwise;
  std::string_view name;
  std::int64_t chunk = 1;  // elements that one tree sums, if the order has chunks
  // Only reductions have a plan: a tree that no ReduceOrder names. If it has blocks, `order` is
  // kBlock and `chunk` is their length. Otherwise `order` is kPairwise.
  std::optional<SumPlan> plan = std::nullopt;
  const Format* second = nullptr;  // format of the second stage, if the case names one

  bool has_blocks() const { return order == ReduceOrder::kBlock; }
  // Returns the arithmetic of the steps after the sums of blocks, or that of `unit` if there are no
  // blocks.
  VectorArithmetic last(const VectorArithmetic& unit) const;
};

// Returns the order that the case selects, before any machine. `order` is pairwise (default),
// sequential, block (with `block_size`), ascend910b_first_n or ascend910b_high_dim. Reductions also
// have lanes and halves. Throws Refusal, which names the case, if a parameter of the
// order is missing or does not apply to it.
SumOrder asked_order(const Case& test_case);
// Returns the format of the steps after a sum in this order. Throws Refusal, which
// names the case, if second_dtype cannot hold the sums of blocks in `unit`.
const Format& last_format(const Case& test_case, const SumOrder& order, const Format& unit);
// Returns the order on a machine. In the ascend910b orders, a chunk has the elements of one repeat
// of the machine's vector unit. Throws like asked_order(), and if the unit has no repeats.
SumOrder sum_order(const Call& call, const Format& input);

// Numbers of roundings on the longest path from an element to its sum. `steps` counts the roundings
// in the arithmetic of the vector unit, and `wide` those of the steps that add the sums of blocks
// (SumOrder::last()). If a case does not give its order, it may be summed in any order. The longest
// path then has n - 1 roundings in the unit's arithmetic.
struct SumRoundings {
  std::int64_t steps = 0, wide = 0;
  bool any_order = false;
  double u = 0, wide_u = 0;  // unit roundoffs of `steps` and of `wide`

  // Returns the largest error of a sum, divided by the sum of its terms' sizes. In any order that
  // is (n - 1) u, however many terms there are, if each addition rounds to nearest (Jeannerod and
  // Rump, SIAM Journal on Matrix Analysis and Applications 34(2), 2013). In a known order with h
  // roundings it is (1 + u)^h - 1. This is at most h u / (1 - h u) (Higham, Accuracy and Stability
  // of Numerical Algorithms, 2nd ed., equation 4.6), and also holds if h u is 1 or more.
  double factor() const;
  // Returns the largest share that a sum of terms that are not negative may lose. It is below 1.
  double loss() const;
  // Returns the formula of factor() as text, for the attribute `why` of a tolerance.
  std::string formula() const;
};

// The largest magnitude that a sum of terms of these sizes may reach before it is rounded, which is
// the sum of the sizes, whatever the signs are. `unit` is for sums in the unit's own arithmetic,
// which are single blocks in the order block. `total` is for the whole sum.
struct LargestSums {
  double unit = 0, total = 0;
};
LargestSums largest_sums(const SumOrder& order, const std::vector<double>& sizes);

// Returns the roundings of a sum of n terms on every machine, with repeats like those of the 910B.
SumRoundings sum_roundings(const Case& test_case, std::int64_t n, const Format& input,
                           const RoundoffBounds& bounds);

}  // namespace assay
