// What the published thresholds are made of on the operands' side: statistics of the rows of A and
// B. Computed once a product.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/abft/operands.h"
#include "assay/abft/threshold.h"

namespace assay::abft {

// V-ABFT's threshold of each check is e_max (mean + c (mixed + pure)); rows x groups of `width`
// columns. Means, extremes and deviations are taken of what `a` and `b` sample.
struct VAbftTerms {
  double mean, mixed, pure;
};
struct VAbftHow {
  std::int64_t width = 0;
  Spread sigma = Spread::kBound;
  Sampling a = {}, b = {};
};
std::vector<VAbftTerms> v_abft_terms(const Operands& operands, const VAbftHow& how, int threads);

// y of the original A-ABFT: a bound of max_k |a_ik (sum_j b_kj)| for each row. `top` = 0: that
// maximum itself. Else from the so many largest |a_ik| of the row and |sum_j b_kj| of B: products
// of pairs that both lists hold, and for an index that only one list holds its value times the
// smallest of the other list (Braun, Halder, Wunderlich, section IV). `matrix`: max |a| max |sum_j
// b_kj| of the whole matrices, for all rows.
std::vector<double> product_bounds(const Operands& operands, int top, bool matrix, int threads);

// ||A_i|| of each row, and of B: sum_j ||B_j|| over its columns and ||b|| of its row sums.
struct Norms {
  std::vector<double> rows_of_a;
  double columns_of_b = 0, row_sums_of_b = 0;
};
Norms norms(const Operands& operands, int threads);

// sum_k |a_ik| sum_j |b_kj| of each row, with the biases' absolute values.
std::vector<double> absolute_products(const Operands& operands, int threads);

// sum over the columns of a check of |bias|; empty where there is none.
std::vector<double> absolute_biases(const Operands& operands, std::int64_t width);

}  // namespace assay::abft
