// reduce_sum, reduce_mean and reduce_max, over one dimension or over all.
#pragma once

#include <vector>

#include "assay/op/operator.h"

namespace assay::inline v0_2 {

// Returns these operators: x (...), float. `axis` is dropped from the shape; a negative axis counts
// from the end. Without `axis` all elements are reduced in row-major order to a scalar. `order` is
// pairwise (default), sequential, block (with `block_size`), ascend910b_first_n or
// ascend910b_high_dim. The trees of a SumPlan are also available: lanes, halves, and a second stage
// of blocks (op/order.h).
//
// A sum of no elements is 0; mean and max need at least one element. A machine's mean is its sum
// divided by the number of elements, rounded once more. The golden mean is rounded once. A maximum
// is the same in every order: it is NaN if any element is, and +0 is above -0.
//
// The tolerance and the element bounds are SumRoundings::factor() sum |x|, for the case's order, or
// for any order if the case does not give one (op/order.h). They hold without overflow.
std::vector<Operator> reduce_operators();

}  // namespace assay
