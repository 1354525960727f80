// In which order an operator's sums are added: the parameters `order` and `block_size`, those of
// the trees of reductions, and how many roundings they bring.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine/sum_plan.h"
#include "assay/op/unit.h"

namespace assay {

// The parameters that sum_order reads, order and block_size, as rows of the table list them, behind
// `own`.
std::vector<Parameter> order_parameters(std::vector<Parameter> own);
// The same of reductions, which take the orders lanes and halves, a second stage and sum_dtype,
// too: the fields of a SumPlan by name.
std::vector<Parameter> plan_parameters(std::vector<Parameter> own);
// The parameters that ask for this plan; those that have their default are left out. Of a case with
// blocks `second_dtype` is another parameter, and sum_dtype is one always.
std::map<std::string, Attribute> plan_attributes(const SumPlan& plan);

struct SumOrder {
  ReduceOrder order = ReduceOrder::kPairwise;
  std::string_view name;
  std::int64_t chunk = 1;  // elements of a tree, where the order has chunks
  // Of reductions alone: a tree that no ReduceOrder names. Where it has blocks, `order` is kBlock
  // and `chunk` their length, else kPairwise.
  std::optional<SumPlan> plan = std::nullopt;
  const Format* second = nullptr;  // of the second stage, where the case names one

  bool has_blocks() const { return order == ReduceOrder::kBlock; }
  // The arithmetic of what follows the blocks, else the unit's.
  VectorArithmetic last(const VectorArithmetic& unit) const;
};

// What the case asks for, before any machine. `order`: pairwise (default), sequential, block (with
// `block_size`), ascend910b_first_n, ascend910b_high_dim; of reductions also lanes and halves.
// Throws std::invalid_argument that names the case where an order lacks a parameter, or has one
// that it cannot use.
SumOrder asked_order(const Case& test_case);
// The format of what follows a sum in this order. Throws std::invalid_argument that names the case
// where second_dtype does not hold the sums of blocks in `unit`.
const Format& last_format(const Case& test_case, const SumOrder& order, const Format& unit);
// The same on a machine: the chunk of the ascend910b orders is the repeat of its unit. Throws where
// it has no repeats, too.
SumOrder sum_order(const Call& call, const Format& input);

// The roundings on the longest path between an element and its sum: those of the unit, and those of
// what follows the sums of blocks. A case that does not say its order may be summed in any order,
// of which the longest path has n - 1 roundings of the unit.
struct SumRoundings {
  std::int64_t steps = 0, wide = 0;
  bool any_order = false;
  double u = 0, wide_u = 0;  // unit roundoffs of the steps, and of the wide ones

  // The error of a sum is at most factor() times the sum of its terms' sizes. In any order that is
  // (n - 1) u, however many terms there are, if each addition rounds to nearest (Jeannerod and
  // Rump, SIAM Journal on Matrix Analysis and Applications 34(2), 2013). In a known order it is (1
  // + u)^h - 1, which is at most h u / (1 - h u) (Higham, Accuracy and Stability of Numerical
  // Algorithms, 2nd ed., equation 4.6) and holds where h u is 1 or more, too.
  double factor() const;
  // A sum of terms that are not negative loses at most this share, which is below 1.
  double loss() const;
  // The formula of factor() for a tolerance's `why`.
  std::string formula() const;
};

// The largest that a sum of terms of these sizes may become, before it is rounded: all of them,
// whatever their signs. Of the order block in the unit's own arithmetic those of a block.
struct LargestSums {
  double unit = 0, total = 0;
};
LargestSums largest_sums(const SumOrder& order, const std::vector<double>& sizes);

// Returns the roundings of a sum of n terms on every machine (repeats as the 910B has them).
SumRoundings sum_roundings(const Case& test_case, std::int64_t n, const Format& input,
                           const RoundoffBounds& bounds);

}  // namespace assay
