#include "assay/abft/a_abft.h"

#include <cmath>
#include <vector>

#include "assay/base/index.h"

namespace assay::inline v0_2::abft {

namespace {

double sum_of_squares(std::int64_t count) {  // 1 + 4 + ... + count^2
  const auto c = static_cast<double>(count);
  return c * (c + 1) * (2 * c + 1) / 6;
}

double row_factor(std::int64_t n) { return std::sqrt(sum_of_squares(n) / 8); }
double depth_factor(std::int64_t k) {
  return std::sqrt(sum_of_squares(k) / 8 + static_cast<double>(k) / 12);
}

}  // namespace

AAbftFactors a_abft_factors(const Format& output, std::int64_t n, std::int64_t k) {
  // The document's eps_low, 2^-8, is the unit roundoff of its bfloat16 outputs. So the unit
  // roundoff of the output's format takes its place.
  constexpr double kEpsHigh = 0x1p-23;
  const double row = row_factor(n);
  return {row * kEpsHigh + unit_roundoff(output) * std::sqrt(static_cast<double>(n)),
          kEpsHigh * row, kEpsHigh * depth_factor(k)};
}

BoundForm a_abft_form(const RowForms& rows, std::int64_t i, std::int64_t) {
  const CheckedProduct& product = rows.product();
  const std::int64_t n = product.n, k = product.k;
  const Checksums& checksums = rows.prepared().checksums;
  const simd::RowSizes& a = checksums.sizes[at(i)];
  BoundForm form;
  if (variant_of(product.options.spec).reads_products) {
    const double row = row_factor(n), depth = depth_factor(k);
    const double eps = 2 * unit_roundoff(rows.output());
    form.per_largest = eps * row + 0x1p-23 * std::sqrt(sum_of_squares(n));
    form.constant = a.weighted * eps * row + eps * depth * a.product;
    return form;
  }
  const AAbftFactors by = a_abft_factors(rows.output(), n, k);
  form.per_largest = by.per_largest;
  form.constant = a.weighted * by.per_weighted + by.per_product * checksums.largest_b * a.largest;
  return form;
}

void prepare_a_abft_original(const CheckedProduct& product, const Format& output, Prepared& to) {
  const ThresholdSpec& spec = product.options.spec;
  const auto depth = static_cast<double>(product.k);
  const double u = unit_roundoff(output);
  const std::vector<double> y =
      product_bounds(product.operands, spec.top, spec.variant == "matrix", product.options.threads);
  const double growth = std::sqrt((depth * (depth + 1) * (depth + 0.5) + 2 * depth) / 24);
  for (std::int64_t i = 0; i < product.m; ++i) to.constants[at(i)] = 3 * growth * 2 * u * y[at(i)];
}

}  // namespace assay::abft
