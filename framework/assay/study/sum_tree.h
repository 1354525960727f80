// The order in which an operator adds, as a tree. The tree is found only from the operator's
// results.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "assay/machine/machine.h"
#include "assay/machine/sum_plan.h"
#include "assay/machine/vector.h"

namespace assay::inline v0_2::study {

// The way in which the children of a node are added.
enum class SumNode : std::uint8_t {
  kTerm,  // the node is a single term, which has no children
  kAdd,   // adds two children, with one rounding
  // Adds several children after cutting off their bits below a unit. The largest child sets this
  // unit.
  kAligned,
  kExact,  // adds several children exactly, and rounds the sum once
};

struct SumTree {
  SumNode kind = SumNode::kTerm;
  std::int64_t term = 0;  // the number of the term, if this node is a term
  // The nodes that are added. The sum that was accumulated before comes first. The other children
  // are in ascending order of their first terms.
  std::vector<SumTree> children;

  std::int64_t first() const { return kind == SumNode::kTerm ? term : children.front().first(); }
  std::int64_t terms() const;  // number of terms below this node
  friend bool operator==(const SumTree& a, const SumTree& b);
};

// The sum to probe. `sums` receives rows of `terms` numbers each, one after the other, and returns
// the sum of each row. In the arithmetic of `sums`, `large` + `terms` * `unit` must round to
// `large`, and sums of up to `terms` units must be exact.
struct SumProbe {
  std::int64_t terms;
  double large, unit;
  std::function<std::vector<double>(const std::vector<double>& rows)> sums;
};

// Finds the tree by one probe for every two terms i < j: `large` at i, -`large` at j, and `unit`
// everywhere else. Units that are added to one of the two large numbers before these meet are lost,
// so the result counts the units that are added later. The counts of all pairs determine the tree
// (Xie et al., FPRev, arXiv 2411.00442; here also with nodes that add several terms at once,
// exactly or aligned). The tree that was found is then checked: it must predict the answer to every
// probe.
//
// Throws Refusal for fewer than 1 or more than 512 terms, or if the number of sums
// differs from the number of rows. Throws std::runtime_error if no such tree explains the answers.
SumTree reveal_sum_tree(const SumProbe& probe);

// Returns the tree by which a machine adds n products to an accumulator of 0, as the machine's row
// describes. The second form returns the tree of a reduce_sum of n terms in this order. Only the
// last three orders use `chunk`.
SumTree expected_tree(const DotModel& model, std::int64_t n);
SumTree expected_tree(ReduceOrder order, std::int64_t chunk, std::int64_t n);
// Returns the tree of a sum of n > 0 terms by a summation plan.
SumTree expected_tree(const SumPlan& plan, std::int64_t n);

// Returns the tree in one line: "((0 + 1) + (2 + 3))", "[0 1 2 3]" for aligned and "{0 1 2 3}" for
// exact sums.
std::string sum_tree_line(const SumTree& tree);
// Returns the tree as lines that are indented by their depth. A tree of adjacent pairs, a chain of
// nodes of one shape, and a run of terms each take one line.
std::string sum_tree_drawing(const SumTree& tree);

}  // namespace assay::study
