#include "assay/abft/worst_case.h"

#include <cmath>
#include <limits>

#include "assay/base/elementary.h"
#include "assay/base/index.h"
#include "assay/base/text.h"

namespace assay::abft {

namespace {}  // namespace

void prepare_sea_abft(const CheckedProduct& product, const Format& output, Prepared& to) {
  const auto depth = static_cast<double>(product.k), columns = static_cast<double>(product.n);
  const double u = unit_roundoff(output);
  const Norms x = norms(product.operands, product.options.threads);
  for (std::int64_t i = 0; i < product.m; ++i) {
    to.constants[at(i)] = ((depth + 2 * columns - 2) * x.columns_of_b + depth * x.row_sums_of_b) *
                          x.rows_of_a[at(i)] * 2 * u;
    if (!to.biases.empty()) to.constants[at(i)] += 2 * u * to.biases[at(i)];
  }
}

void prepare_analytic(const CheckedProduct& product, const Format& output, Prepared& to) {
  const auto depth = static_cast<double>(product.k);
  const double u = unit_roundoff(output);
  const auto& lambda = product.options.spec.lambda;
  double gamma =
      depth * u < 1 ? depth * u / (1 - depth * u) : std::numeric_limits<double>::infinity();
  if (lambda) gamma = portable::expm1(*lambda * std::sqrt(depth) * u + depth * u * u / (1 - u));
  to.constants = absolute_products(product.operands, product.options.threads);
  for (double& t : to.constants) t *= gamma;
}

std::string why_not_analytic(const CheckedProduct& product, const Format& output) {
  const double growth = static_cast<double>(product.k) * unit_roundoff(output);
  if (product.options.spec.lambda || growth < 1) return "";
  return formatted("analytic has no bound where K u is 1 or more: K {}, u {}; give lambda",
                   product.k, unit_roundoff(output));
}

}  // namespace assay::abft
