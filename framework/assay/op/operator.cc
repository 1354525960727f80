#include "assay/op/operator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/machine/dot.h"

namespace assay {
namespace {

constexpr Operator kOperators[] = {
    {"matmul", "a (..., M, K), b (..., K, N), optional bias (N)",
     "transpose_a transpose_b output_dtype promotion_interval", run_matmul},
};

// Attributes that say something about a case without changing what its operator computes.
constexpr std::array<std::string_view, 12> kHints = {
    "output_dtype", "standard", "rtol",    "atol",        "equal_nan", "tags",
    "seed",         "source",   "machine", "nan_payload", "why",       "description"};

const Operator& operator_of(const Case& c) {
  if (const Operator* found = find_operator(c.op)) return *found;
  std::vector<std::string> names;
  for (const Operator& o : kOperators) names.emplace_back(o.name);
  throw std::invalid_argument(
      format("case {}: assay does not emulate the operator '{}'; it emulates {}", c.name, c.op,
             joined(names)));
}

void check_parameters(const Case& c, const Operator& op) {
  const auto known = split(op.parameters, ' ');
  for (const auto& [name, value] : c.attributes) {
    if (std::find(kHints.begin(), kHints.end(), name) != kHints.end()) continue;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw std::invalid_argument(format("case {}: {} does not know the parameter '{}'; it knows {}",
                                       c.name, op.name, name, joined(known)));
  }
}

}  // namespace

std::span<const Operator> operators() { return kOperators; }

const Operator* find_operator(std::string_view name) {
  for (const Operator& o : kOperators) {
    if (o.name == name) return &o;
  }
  return nullptr;
}

Tensor emulate(const Case& c, const Machine& machine, int threads) {
  const Operator& op = operator_of(c);
  check_parameters(c, op);
  return op.run({c, machine, c.output_format(), threads});
}

Tensor golden_result(const Case& c, int threads) {
  const Operator& op = operator_of(c);
  check_parameters(c, op);
  const Format& output = c.output_format();
  return op.run(
      {c, machine_named("exact"), output.is_float() ? format_named("float64") : output, threads});
}

DerivedTolerance derived_tolerance(const Case& c) {
  const Format& output = c.output_format();
  if (c.op != "matmul" || !output.is_float()) {
    throw std::invalid_argument(format(
        "case {}: no tolerance can be derived for {} with {} results", c.name, c.op, output.name));
  }
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  double largest = 0;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    std::vector<double> a = matmul_matrix(c, "a", batch).values(),
                        b = matmul_matrix(c, "b", batch).values();
    for (double& v : a) v = std::abs(v);
    for (double& v : b) v = std::abs(v);
    std::vector<double> sums(static_cast<std::size_t>(s.m * s.n));
    for (std::size_t i = 0; i < sums.size() && !bias.empty(); ++i) {
      sums[i] = std::abs(bias[i % bias.size()]);
    }
    exact_matmul(s.m, s.n, s.k, a.data(), b.data(), sums.data());
    for (const double v : sums) {
      if (!std::isfinite(v)) {
        throw std::invalid_argument(format(
            "case {}: no tolerance can be derived: its inputs hold NaN or infinity", c.name));
      }
      largest = std::max(largest, v);
    }
  }
  const double rtol = 2 * unit_roundoff(output);
  return {rtol, static_cast<double>(s.k) * 0x1p-24 * largest,
          format("rtol: one {} ulp; atol: K 2^-24 max sum_k |a_ik b_kj|, the error of float32 "
                 "accumulation in any order (K = {}, sum at most {})",
                 output.name, s.k, short_number(largest, 4))};
}

}  // namespace assay
