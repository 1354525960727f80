#include "assay/abft/row_forms.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/arithmetic.h"
#include "assay/abft/residual_compensated.h"
#include "assay/base/index.h"

namespace assay::inline v0_2::abft {

RowForms::RowForms(const CheckedProduct& product, const Format& output, double kappa)
    : product_(product),
      prepared_(product.prepare(output)),
      output_(output),
      kappa_(kappa),
      accumulation_(product.options.model, product.k),
      groups_(prepared_.checksums.groups) {
  const Threshold& t = product.threshold();
  const bool by_row = t.by_variance && !t.takes_residuals && !product.from_golden &&
                      prepared_.checksums.squares.size() == at(product.m);
  const bool by_check = !prepared_.prefixes.empty() || !prepared_.biases.empty() ||
                        accumulation_.truncates() || accumulation_.flushes_inputs() ||
                        rounds_sums(product.options.spec.arithmetic);
  alike_ = by_row && !by_check;
}

StatsUsed RowForms::used() const {
  const Threshold& t = product_.threshold();
  return {.largest = t.reads_sizes,
          .absolute = t.reads_peaks,
          .square = t.by_variance && (product_.from_golden || product_.exact_squares(output_)),
          .ulps = t.by_variance};
}

ProductStats RowForms::product_stats(std::int64_t i, std::int64_t g) const {
  ProductStats p;
  const std::size_t check = at(i * groups_ + g);
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

void RowForms::next(std::int64_t i, std::int64_t g, BoundForm& form) const {
  const bool is_that =
      g > 0 && alike_ && (g + 1 < groups_ || product_.columns_of(g) == product_.columns_of(0));
  if (!is_that && output_.is_float()) form = product_.threshold().form(*this, i, g);
  form.checkable = std::isfinite(prepared_.checksums.sums[at(i * groups_ + g)]);
}

void RowForms::make(std::int64_t i, BoundForm* to) const {
  BoundForm form;
  for (std::int64_t g = 0; g < groups_; ++g) {
    next(i, g, form);
    to[g] = form;
  }
}

BoundForm RowForms::rounding(std::int64_t i, std::int64_t g) const {
  BoundForm form = rounding_form(*this, i, g);
  form.checkable = std::isfinite(prepared_.checksums.sums[at(i * groups_ + g)]);
  return form;
}

BoundForm constant_form(const RowForms& rows, std::int64_t i, std::int64_t g) {
  return {.constant = rows.prepared().constants[at(i * rows.prepared().checksums.groups + g)]};
}

}  // namespace assay::abft
