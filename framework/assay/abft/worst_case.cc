#include "assay/abft/worst_case.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/elementary.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/machine/unit_bound.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2::abft {
namespace {

// Raises thresholds that were published as worst cases, because their formulas leave out two cases:
// values below the normal range, and accumulators that keep fewer bits than the output. T becomes
//
//   max(T + n s / 2 + A, W)   results as wide as the accumulator, which are not cast
//   max(T, W)                 results that are cast: T, by the output's unit roundoff u, has room
//                             for the accumulation
//
// W = E + u (S + E) + n s / 2 bounds the error of a row for any data. E is the error of the
// accumulation (RowSumBounds). S is the row's sum of |a| |b|. n s / 2 is half the smallest
// subnormal for each of the n casts. A is the part of E that comes from below the normal range. W
// does not count for results that are not cast if the accumulator has at least the output's
// precision and rounds to nearest: T then stays as published, except for n s / 2 + A.
void raise_to_worst_case(const CheckedProduct& product, const Format& output, Prepared& to) {
  const DotModel model =
      product.options.model != nullptr ? *product.options.model : in_any_order(*product.input_a);
  const bool starts = !to.biases.empty();
  if (!why_no_sum_bounds(model, product.k, starts).empty()) return;
  const int threads = product.options.threads;
  const auto columns = static_cast<double>(product.n);
  RowSumBounds bounds(model, product.n, product.k, starts);
  parallel_for(product.k, threads, [&](std::int64_t kk) {
    std::vector<double> row(at(product.n));
    product.operands.b.read(kk, 0, product.n, row.data());
    bounds.take(kk, row);
  });
  const bool is_cast = !is_own_accumulation(output);
  const double u = unit_roundoff(output), casts = columns * min_subnormal(output) / 2;
  // True if the accumulator has the output's precision and rounds to nearest, as the published T
  // assumes.
  const bool is_as_published =
      model.kept_bits.value == 0 && model.rounding.value == Rounding::kNearestEven &&
      (product.options.model == nullptr || accumulator_format(model).precision >= output.precision);
  // The checksums are products in float64 and may underflow too. `own` bounds what they lose.
  const double own = static_cast<double>(product.k) * 0x1p-1074;
  parallel_for(product.m, threads, [&](std::int64_t i) {
    std::vector<double> row(at(product.k));
    product.operands.a.read(i, 0, product.k, row.data());
    const RowSumBounds::Row r = bounds.of(row, starts ? to.biases[at(i)] : 0);
    double& t = to.constants[at(i)];
    if (!std::isfinite(r.error)) return;      // the row cannot be checked
    if (r.size == 0 && r.error == 0) return;  // all products are 0
    double worst = r.error + own;
    if (is_cast) {
      worst += u * (r.size + r.error) + casts;
    } else {
      t += r.absolute + casts + own;
      if (is_as_published) return;
    }
    t = std::max(t, worst);
  });
}

}  // namespace

void prepare_sea_abft(const CheckedProduct& product, const Format& output, Prepared& to) {
  const auto depth = static_cast<double>(product.k), columns = static_cast<double>(product.n);
  const double u = unit_roundoff(output);
  const Norms x = norms(product.operands, product.options.threads);
  for (std::int64_t i = 0; i < product.m; ++i) {
    to.constants[at(i)] = ((depth + 2 * columns - 2) * x.columns_of_b + depth * x.row_sums_of_b) *
                          x.rows_of_a[at(i)] * 2 * u;
    if (!to.biases.empty()) to.constants[at(i)] += 2 * u * to.biases[at(i)];
  }
  raise_to_worst_case(product, output, to);
}

void prepare_analytic(const CheckedProduct& product, const Format& output, Prepared& to) {
  const auto depth = static_cast<double>(product.k);
  const double u = unit_roundoff(output);
  const auto& lambda = product.options.spec.lambda;
  double gamma = depth * u < 1 ? depth * u / (1 - depth * u) : kInfinity;
  if (lambda) gamma = portable::expm1(*lambda * std::sqrt(depth) * u + depth * u * u / (1 - u));
  to.constants = absolute_products(product.operands, product.options.threads);
  for (double& t : to.constants) t *= gamma;
  // With lambda the bound is probabilistic and not a worst case, so it is not raised.
  if (!lambda) raise_to_worst_case(product, output, to);
}

std::string why_not_analytic(const CheckedProduct& product, const Format& output) {
  const double growth = static_cast<double>(product.k) * unit_roundoff(output);
  if (product.options.spec.lambda || growth < 1) return "";
  return formatted(
      "the threshold analytic has no bound if K u is 1 or more, with K = {} products in a sum and "
      "the unit roundoff u = {}; give lambda",
      product.k, unit_roundoff(output));
}

}  // namespace assay::abft
