// reduce_sum, reduce_mean, reduce_max over one dimension, or over all.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay {

// Their rows: x (...), float. `axis` (negative: from the end) is dropped from the shape; without it
// all elements are reduced in row-major order to a scalar. `order`: pairwise (default), sequential,
// block (with `block_size`), ascend910b_first_n, ascend910b_high_dim, and the trees of a SumPlan:
// lanes, halves, and a second stage of blocks (op/order.h). A sum of no elements is 0;
// mean and max need at least one. A machine's mean is its sum divided by the number of elements,
// rounded once more; the golden mean is rounded once. A maximum is the same in every order; NaN
// wins, and +0 is above -0.
//
// Tolerance, and the element bounds: SumRoundings::factor() sum |x|, by the order that the case
// says and else for any order (op/order.h). Without overflow.
std::vector<Operator> reduce_operators();

}  // namespace assay
