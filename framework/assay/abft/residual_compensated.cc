#include "assay/abft/residual_compensated.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/rounding_variance.h"
#include "assay/base/index.h"

namespace assay::inline v0_2::abft {
BoundForm residual_compensated_form(const RowForms& rows, std::int64_t i, std::int64_t g) {
  const CheckedProduct& product = rows.product();
  const ProductStats p = rows.product_stats(i, g);
  const AccumulationNoise noise = rows.accumulation().noise(p, rows.kappa());
  BoundForm form;
  form.has_variance = true;
  form.deviations = noise.deviations;
  form.accumulation = noise.variance;
  form.per_square = noise.per_square;
  form.constant = noise.flushed + rows.prepared().constants[at(i * product.groups() + g)];
  // The kernel sums R in float32, w terms in any order. No partial sum s is above sum ulp / 2. As
  // in the accumulation, a rounding has the variance u^2 s^2 / 5, which is at most u^2/20 w sum
  // ulp^2. There are w roundings.
  form.per_ulp_square = 0x1p-48 / 20 * p.columns * p.columns;
  return form;
}

BoundForm rounding_form(const RowForms& rows, std::int64_t i, std::int64_t g) {
  BoundForm form = rounding_variance_form(rows, i, g);
  form.constant = 0;
  form.deviations = form.accumulation = form.per_square = form.per_ulp_square = 0;
  return form;
}

Reading cast_reading(const Format& output, double cast, double before) {
  const double largest = max_finite(output);
  const double wanted = std::isnan(before) ? before : std::clamp(before, -largest, largest);
  Reading r;
  r.difference = std::abs(cast - wanted);
  r.below = cast < wanted;
  r.threshold = ulp_of(output, wanted) / 2;
  return r;
}

std::vector<double> residuals_of(const CheckedProduct& d, const TensorView& c,
                                 const TensorView& before) {
  std::vector<double> r(at(d.m * d.groups()), 0.0);
  const std::vector<double> cast = c.values(), whole = before.values();
  for (std::int64_t i = 0; i < d.m; ++i) {
    for (std::int64_t j = 0; j < d.n; ++j) {
      const std::size_t e = at(i * d.n + j);
      r[at(i * d.groups() + j / d.width())] += whole[e] - cast[e];
    }
  }
  return r;
}

}  // namespace assay::abft
