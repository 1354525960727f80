// The order in which an operator adds, from its results alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/machine/vector.h"

namespace assay::study {

// How the children of a node meet.
enum class SumNode : std::uint8_t {
  kTerm,
  kAdd,      // two, rounded
  kAligned,  // several, cut at the largest of them, then one sum: tensor cores
  kExact,    // several, one exact sum, rounded once
};

struct SumTree {
  SumNode kind = SumNode::kTerm;
  std::int64_t term = 0;  // of a kTerm
  // In ascending order of their first term; what was accumulated before comes first.
  std::vector<SumTree> children;

  std::int64_t first() const { return kind == SumNode::kTerm ? term : children.front().first(); }
  std::int64_t terms() const;
  friend bool operator==(const SumTree& a, const SumTree& b);
};

// What is probed: `sums` takes rows of `terms` numbers and gives a sum a row. `large` + terms *
// `unit` must be `large` after rounding by whatever adds, and sums of up to `terms` units exact.
struct SumProbe {
  std::int64_t terms;
  double large, unit;
  std::function<std::vector<double>(const std::vector<double>& rows)> sums;
};

// For every two terms i < j: large at i, -large at j, units elsewhere. The units that were added to
// one of the two before they met are lost, so that the result counts the others; a tree is the
// nesting of these counts (Xie et al., FPRev, arXiv 2411.00442; here with nodes that add several
// terms at once, exactly or aligned). The tree is then asked what it would have answered to each
// probe. Throws std::invalid_argument for fewer than 1 or more than 512 terms, and
// std::runtime_error where no such tree explains the answers.
SumTree reveal_sum_tree(const SumProbe& probe);

// What a machine's row says: the tree of n products from an accumulator of 0, and of reduce_sum.
SumTree expected_tree(const DotModel& model, std::int64_t n);
SumTree expected_tree(ReduceOrder order, std::int64_t chunk, std::int64_t n);

// "((0 + 1) + (2 + 3))", "[0 1 2 3]" for aligned and "{0 1 2 3}" for exact sums.
std::string sum_tree_line(const SumTree& tree);
// The same as lines, indented by depth: trees of adjacent pairs, chains and runs of terms are a
// line each.
std::string sum_tree_drawing(const SumTree& tree);

}  // namespace assay::study
