#include "assay/abft/row_forms.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/residual_compensated.h"
#include "assay/base/index.h"

namespace assay::abft {

namespace {}  // namespace

RowForms::RowForms(const CheckedProduct& product, const Format& output, double kappa)
    : product_(product),
      prepared_(product.prepare(output)),
      output_(output),
      kappa_(kappa),
      accumulation_(product.options.model, product.k) {}

StatsUsed RowForms::used() const {
  const Threshold& t = product_.threshold();
  return {.largest = t.reads_sizes,
          .absolute = t.reads_peaks,
          .square = t.by_variance && (product_.from_golden || product_.exact_squares(output_)),
          .ulps = t.by_variance};
}

ProductStats RowForms::product_stats(std::int64_t i, std::int64_t g) const {
  ProductStats p;
  const std::size_t check = at(i * prepared_.checksums.groups + g);
  const std::int64_t columns = product_.columns_of(g);
  p.columns = static_cast<double>(columns);
  p.square = prepared_.checksums.square(i, g, product_.m);
  p.expected = prepared_.checksums.sums[check];
  if (!prepared_.biases.empty()) {
    const std::int64_t first = g * product_.width();
    for (std::int64_t j = first; j < first + columns; ++j) {
      const double bias = product_.operands.bias_at(i, j);
      p.start += bias * bias;
      p.expected -= bias;
    }
  }
  if (!prepared_.prefixes.empty()) p.prefixes = prepared_.prefixes[check];
  if (!prepared_.signs.empty()) {
    p.sign = prepared_.signs[check] /
             (static_cast<double>(std::max<std::int64_t>(product_.k, 1)) * p.columns);
  }
  return p;
}

double RowForms::bias_of(std::int64_t i, std::int64_t g) const {
  return prepared_.prefixes.empty() ? 0 : accumulation_.bias(product_stats(i, g));
}

void RowForms::make(std::int64_t i, BoundForm* to) const {
  const std::int64_t groups = prepared_.checksums.groups;
  const auto form_of = product_.threshold().form;
  for (std::int64_t g = 0; g < groups; ++g) {
    to[g] = output_.is_float() ? form_of(*this, i, g) : BoundForm{};  // integers: exactly
    to[g].checkable = std::isfinite(prepared_.checksums.sums[at(i * groups + g)]);
  }
}

BoundForm RowForms::rounding(std::int64_t i, std::int64_t g) const {
  BoundForm form = rounding_form(*this, i, g);
  form.checkable = std::isfinite(prepared_.checksums.sums[at(i * prepared_.checksums.groups + g)]);
  return form;
}

BoundForm constant_form(const RowForms& rows, std::int64_t i, std::int64_t g) {
  BoundForm form;
  form.constant = rows.prepared().constants[at(i * rows.prepared().checksums.groups + g)];
  return form;
}

}  // namespace assay::abft
