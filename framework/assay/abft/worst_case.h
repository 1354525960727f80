// The code of the thresholds that bound the worst case in one precision: sea_abft (simplified error
// analysis ABFT) and analytic (Higham, Accuracy and Stability, 3.5; with lambda Higham and Mary,
// SIAM J. Sci. Comput. 41(5), 2019). Both are raised to the true worst case near underflow and on
// accumulators that keep fewer bits than the output. With lambda, analytic is not raised.
#pragma once

#include <string>

#include "assay/abft/checked_product.h"

namespace assay::inline v0_2::abft {

void prepare_sea_abft(const CheckedProduct& product, const Format& output, Prepared& to);
void prepare_analytic(const CheckedProduct& product, const Format& output, Prepared& to);
std::string why_not_analytic(const CheckedProduct& product, const Format& output);

}  // namespace assay::abft
