#include "assay/op/accumulation.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "assay/base/text.h"
#include "assay/op/attention.h"
#include "assay/op/norm.h"
#include "assay/op/reduce.h"
#include "assay/op/scaled_matmul.h"

namespace assay {
namespace {

std::vector<double> finite_values(const Case& c, const char* name, const TensorView& matrix) {
  std::vector<double> values = matrix.values();
  for (const double v : values) {
    if (!std::isfinite(v)) {
      throw std::invalid_argument(
          format("case {}: no bound of accumulation: {} holds NaN or infinity", c.name, name));
    }
  }
  return values;
}

Tensor matmul_bounds(const Case& c, const Machine& machine, int threads) {
  const Format& output = c.output_format();
  DotModel model = dot_model(machine, c.input("a").format());
  model.other_input = c.input("b").format().name;
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  const auto part = static_cast<std::size_t>(s.m * s.n);
  std::vector<double> bounds;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = finite_values(c, "a", matmul_matrix(c, "a", batch));
    const std::vector<double> b = finite_values(c, "b", matmul_matrix(c, "b", batch));
    const SumBounds sums = sum_bounds(c, model, s.m, s.n, s.k, a, b, bias, threads);
    for (std::size_t i = 0; i < part; ++i) {
      // All of it is rounded once to the output's format.
      bounds.push_back(sums.error[i] * (1 + unit_roundoff(output)));
    }
  }
  return Tensor::from_values(format_named("float64"), s.output, bounds);
}

}  // namespace

SumBounds sum_bounds(const Case& c, const DotModel& model, std::int64_t m, std::int64_t n,
                     std::int64_t k, const std::vector<double>& a, const std::vector<double>& b,
                     const std::vector<double>& start, int threads) {
  const std::string why = why_no_sum_bounds(model, k, !start.empty());
  if (!why.empty()) {
    throw std::invalid_argument(format("case {}: no bound of accumulation: {}", c.name, why));
  }
  return sum_bounds(model, m, n, k, a, b, start, threads);
}

Tensor accumulation_bounds(const Case& c, const Machine& machine, int threads) {
  if (c.op == "reduce_sum") return reduce_sum_bounds(c);
  if (c.op == "softmax" || c.op == "layernorm" || c.op == "rmsnorm") return norm_bounds(c);
  if (c.op == "attention") return attention_bounds(c);
  if (c.op != "matmul" && c.op != "scaled_matmul") {
    throw std::invalid_argument(
        format("case {}: the bound of accumulation is known for matmul, scaled_matmul, reduce_sum, "
               "softmax, layernorm, rmsnorm and attention, not {}",
               c.name, c.op.empty() ? "a case without an operator" : c.op));
  }
  if (machine.is_exact()) {
    throw std::invalid_argument(format(
        "case {}: machine exact does not round; name another, as in accumulation(hopper)", c.name));
  }
  return c.op == "matmul" ? matmul_bounds(c, machine, threads)
                          : scaled_matmul_bounds(c, machine, threads);
}

const Machine* machine_of(const Case& c) {
  const auto word = c.text("machine");
  if (!word) return nullptr;
  const Machine& machine = machine_named(*word);
  return machine.is_exact() ? nullptr : &machine;
}

DerivedTolerance accumulation_tolerance(const Format& output, const Machine& machine,
                                        const std::vector<double>& bounds) {
  const double rtol = unit_roundoff(output);
  const double most = bounds.empty() ? 0 : *std::max_element(bounds.begin(), bounds.end());
  return {rtol, (1 + rtol) * most + min_subnormal(output) / 2,
          format("rtol: half a {} ulp; atol: the largest bound of accumulation on {}", output.name,
                 machine.name)};
}

}  // namespace assay
