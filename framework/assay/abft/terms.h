// The part of the operands in the published thresholds: statistics of the rows of A and B. Computed
// once for each product.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/operands.h"
#include "assay/abft/threshold.h"
#include "assay/abft/threshold_terms.h"

namespace assay::inline v0_2::abft {

// The terms of V-ABFT's threshold. v_abft_terms() returns those of each check, as rows x groups of
// `width` columns. Means, extremes and deviations cover the columns that `a` and `b` sample.
struct VAbftHow {
  std::int64_t width = 0;
  Spread sigma = Spread::kBound;
  Sampling a = {}, b = {};
};
std::vector<device::VAbftSums> v_abft_terms(const Operands& operands, const VAbftHow& how,
                                            int threads);

// Returns y of the original A-ABFT for each row: a bound of max_k |a_ik (sum_j b_kj)|. With `top` =
// 0 it is that maximum. With `top` > 0 it is computed from the `top` largest |a_ik| of the row and
// the `top` largest |sum_j b_kj| of B. An index in both lists contributes its product. An index in
// one list contributes its value times the smallest value of the other list (Braun, Halder,
// Wunderlich, section IV). With `matrix` it is max |a| max |sum_j b_kj| over the whole matrices,
// for all rows.
std::vector<double> product_bounds(const Operands& operands, int top, bool matrix, int threads);

// Norms for A-ABFT: ||A_i|| of each row of A. For B, the sum of ||B_j|| over its columns, and ||b||
// of its row sums.
struct Norms {
  std::vector<double> rows_of_a;
  double columns_of_b = 0, row_sums_of_b = 0;
};
Norms norms(const Operands& operands, int threads);

// Returns sum_k |a_ik| sum_j |b_kj| of each row, plus the absolute values of the biases.
std::vector<double> absolute_products(const Operands& operands, int threads);

// Returns the sum of |bias| over the columns of each check. Empty if there is no bias.
std::vector<double> absolute_biases(const Operands& operands, std::int64_t width);

}  // namespace assay::abft
