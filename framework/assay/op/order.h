// In which order an operator's sums are added: the parameters `order` and `block_size`, and how
// many roundings they bring.
#pragma once

#include <string_view>

#include "assay/op/unit.h"

namespace assay {

// The attributes that sum_order reads, as an operator's row lists them.
#define ASSAY_ORDER_PARAMETERS "order block_size "

struct SumOrder {
  ReduceOrder order = ReduceOrder::kPairwise;
  std::string_view name;
  std::int64_t chunk = 1;  // elements of a tree, where the order has chunks
};

// `order`: pairwise (default), sequential, block (with `block_size`), ascend910b_first_n,
// ascend910b_high_dim, whose chunk is the repeat of the machine's unit. Throws
// std::invalid_argument that names the case: an order that is not known, one without its block size
// or with a useless one, a machine without repeats (`exact` has no need of them).
SumOrder sum_order(const Call& call, const Format& input);

// Between an element and its sum, the longest path: roundings by the unit, and by float32.
struct SumRoundings {
  std::int64_t steps = 0, wide = 0;
  double total = 0;  // their relative errors
  // h u / (1 - h u) (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., equation
  // 4.6).
  double factor() const { return total / (1 - total); }
};

// Of a sum of n terms, whatever the machine (repeats as the 910B has them). Throws
// std::invalid_argument where they leave no digit.
SumRoundings sum_roundings(const Case& test_case, std::int64_t n, const Format& input,
                           const RoundoffBounds& bounds);

}  // namespace assay
