#include "assay/abft/rounding_variance.h"

#include <algorithm>
#include <cmath>

#include "assay/abft/threshold_terms.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::abft {

namespace {

// Returns why the variance of the accumulation does not hold for a model's accumulator. Empty if it
// does hold.
std::string why_not_on(const DotModel* model) {
  if (model == nullptr) return "";
  const Rounding rounding = model->rounding.value;
  if (model->accumulator.value != "float32" ||
      (rounding != Rounding::kNearestEven && rounding != Rounding::kTowardZero)) {
    return formatted(
        "rounding_variance needs a float32 accumulator rounded by nearest_even or toward_zero, not "
        "{} by {}",
        model->accumulator.value, rounding_name(rounding));
  }
  const int bits = model->mantissa_bits.value;
  if (bits > 0 && bits < 23 && model->promotion_interval.value == 0) {
    return formatted(
        "rounding_variance does not hold for an accumulator of {} mantissa bits that is never "
        "promoted: its errors reach those of the outputs, with their sign",
        bits);
  }
  return "";
}

// Returns for each check the sum of |a_ik b_kj| over products with a subnormal factor. A unit that
// flushes its inputs reads such a factor as 0.
std::vector<double> flushed_products(const CheckedProduct& product,
                                     const Accumulation& accumulation) {
  const Operands& o = product.operands;
  const std::int64_t groups = product.groups(), width = product.width();
  const std::int64_t m = product.m, n = product.n, k = product.k;
  std::vector<double> all(at(k * groups), 0.0), flushed(at(k * groups), 0.0);
  parallel_for(k, product.options.threads, [&](std::int64_t kk) {
    std::vector<double> row(at(n));
    o.b.read(kk, 0, n, row.data());
    for (std::int64_t j = 0; j < n; ++j) {
      const double size = std::abs(row[at(j)]);
      const std::size_t to = at(kk * groups + j / width);
      all[to] += size;
      if (accumulation.aligned_size_b(size) == 0) flushed[to] += size;
    }
  });
  std::vector<double> sums(at(product.m * groups), 0.0);
  parallel_for(m, product.options.threads, [&](std::int64_t i) {
    std::vector<double> row(at(k));
    o.a.read(i, 0, k, row.data());
    for (std::int64_t kk = 0; kk < k; ++kk) {
      const double size = std::abs(row[at(kk)]);
      const std::vector<double>& by = accumulation.aligned_size_a(size) == 0 ? all : flushed;
      for (std::int64_t g = 0; g < groups; ++g) {
        sums[at(i * groups + g)] += size * by[at(kk * groups + g)];
      }
    }
  });
  return sums;
}

// Adds the rounding errors of the check's own float32 sums (docs/abft.md) to its form: the sums B e
// and the row's sum, which are summed as trees, and the chain over k. For hi_lo, adds the part of B
// e that a pair of bfloat16 loses.
void add_own_sums(BoundForm& form, const CheckedProduct& product, const ProductStats& p) {
  const Arithmetic arithmetic = product.options.spec.arithmetic;
  if (arithmetic != Arithmetic::kFloat32 && arithmetic != Arithmetic::kHiLo) return;
  constexpr double kSquare = 0x1p-48 / 3;
  const auto depth = static_cast<double>(product.k);
  const double chains = arithmetic == Arithmetic::kHiLo ? 2 : 1;
  form.accumulation +=
      kSquare * (2 * p.columns * p.square +
                 chains * depth * (p.expected * p.expected / 3 + p.columns * p.square / 6));
  form.per_square += kSquare * 2 * p.columns;
  if (arithmetic == Arithmetic::kHiLo) form.accumulation += 0x1p-34 / 3 * p.columns * p.square;
}

}  // namespace

void prepare_rounding_variance(const CheckedProduct& product, const Format&, Prepared& to) {
  const Accumulation accumulation(product.options.model, product.k);
  if (accumulation.flushes_inputs()) to.constants = flushed_products(product, accumulation);
  if (!accumulation.truncates()) return;
  const std::int64_t groups = product.groups(), width = product.width(), n = product.n;
  const auto by_groups = [&](bool signs) {
    return grouped_products(
        product.operands.a, groups, signs,
        [&](std::int64_t kk, double* sums) {
          std::vector<double> row(at(n));
          product.operands.b.read(kk, 0, n, row.data());
          std::fill(sums, sums + groups, 0.0);
          const double weight = signs ? 1 : accumulation.roundings_after(kk);
          for (std::int64_t j = 0; j < n; ++j) {
            const double b = row[at(j)];
            sums[j / width] += signs ? static_cast<double>((b > 0) - (b < 0)) : weight * b;
          }
        },
        product.options.threads);
  };
  to.prefixes = by_groups(false);
  if (accumulation.aligns()) to.signs = by_groups(true);
}

BoundForm rounding_variance_form(const RowForms& rows, std::int64_t i, std::int64_t g) {
  const CheckedProduct& product = rows.product();
  const Format& output = rows.output();
  const bool own = is_own_accumulation(output);
  if (product.from_golden) {
    BoundForm form;
    form.has_variance = true;
    form.kappa = form.deviations = rows.kappa();
    device::add_casts(form, static_cast<double>(product.columns_of(g)),
                      product.options.spec.coarse);
    // Without operands the errors of the accumulation are not known, so the tolerance of each
    // element applies.
    if (product.options.golden_tolerance) {
      form.constant = rows.prepared().constants[at(i * product.groups() + g)];
      return form;
    }
    // If neither operands nor a tolerance are given, allows for a float32 accumulation of a few
    // thousand terms: for each element 2^-16 of the row's root mean square.
    form.per_square = 0x1p-32 / (rows.kappa() * rows.kappa());
    return form;
  }
  const ProductStats p = rows.product_stats(i, g);
  BoundForm form = device::variance_form(
      rows.accumulation().terms(),
      {.kappa = rows.kappa(), .own = own, .coarse = product.options.spec.coarse}, p);
  // The error of flushed inputs is added, too.
  form.constant += rows.prepared().constants[at(i * product.groups() + g)];
  add_own_sums(form, product, p);
  if (!own) device::bound_squares_by_ulps(form, output.mantissa_bits());
  return form;
}

std::string why_not_rounding_variance(const CheckedProduct& product, const Format& output) {
  if (product.from_golden && is_own_accumulation(output) && !product.options.golden_tolerance) {
    return formatted(
        "only a golden result is given, which does not bound the accumulation errors of {} "
        "results; give the operands",
        output.name);
  }
  if (product.options.spec.arithmetic == Arithmetic::kMachine) {
    return "rounding_variance does not know the errors of the machine's own sums: use "
           "arithmetic=float64";
  }
  return why_not_on(product.options.model);
}

}  // namespace assay::abft
