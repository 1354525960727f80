#include "assay/op/matmul.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/op/accumulation.h"
#include "assay/op/dot.h"
#include "assay/op/expected_error.h"
#include "assay/op/generate.h"

namespace assay {
namespace {

// The result in `output`, one matrix of a batch after the other: multiply(a, b, values) adds the
// product of a matrix a and a matrix b to `values`, which hold the bias or 0.
template <typename Multiply>
Tensor multiplied(const Case& c, const MatrixUnit& unit, const Format& output,
                  const Multiply& multiply) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  Tensor result(output, s.output);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  const auto bytes = count * static_cast<std::size_t>(output.storage_bytes);
  std::vector<double> values(count);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = unit.operand(matmul_matrix(c, "a", batch)),
                              b = unit.operand(matmul_matrix(c, "b", batch));
    for (std::size_t i = 0; i < count; ++i) values[i] = bias.empty() ? 0.0 : bias[i % bias.size()];
    multiply(s, a.data(), b.data(), values);
    encode_array(output, values.data(), count,
                 result.bytes() + static_cast<std::size_t>(batch) * bytes);
  }
  return result;
}

Tensor multiplied_exactly(const Case& c, const MatrixUnit& unit, const Format& output,
                          int threads) {
  return multiplied(
      c, unit, output,
      [&](const MatmulShape& s, const double* a, const double* b, std::vector<double>& values) {
        exact_matmul(s.m, s.n, s.k, a, b, values.data(), threads);
      });
}

Tensor run_matmul(const Call& call) {
  const Case& c = call.test_case;
  const MatrixUnit unit = matrix_unit(call);
  if (unit.sums_exactly()) return multiplied_exactly(c, unit, call.output, call.threads);
  const bool has_bias = c.inputs.count("bias") != 0, first = call.machine.bias_first.value;
  return multiplied(
      c, unit, call.output,
      [&](const MatmulShape& s, const double* a, const double* b, std::vector<double>& values) {
        std::vector<float> sums(values.size(), 0.0f);
        if (first) sums.assign(values.begin(), values.end());
        dot_matmul(*unit.model, s.m, s.n, s.k, a, b, sums.data(), call.threads, unit.split_k);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<double>(
              first || !has_bias ? sums[i] : sums[i] + static_cast<float>(values[i]));
        }
      });
}

Tensor matmul_reference(const ReferenceCall& call) {
  return multiplied_exactly(call.test_case, exact_unit(call.test_case), call.output, call.threads);
}

// The bounds of m x n sums, K split as the case says: each part is summed from 0, and the parts are
// added to the bias in float32. Sums in any order may be split in any way.
SumBounds bounds_of_sums(const Case& c, const Machine& machine, const MatrixUnit& unit,
                         const MatmulShape& s, const std::vector<double>& a,
                         const std::vector<double>& b, const std::vector<double>& bias,
                         int threads) {
  const std::int64_t split = unit.split_k;
  if (split <= 0 || split >= s.k || &machine == &any_machine()) {
    return sum_bounds(c, machine, *unit.model, s.m, s.n, s.k, a, b, bias, threads);
  }
  SumBounds all;
  all.size.assign(static_cast<std::size_t>(s.m * s.n), 0.0);
  all.error = all.size;
  double parts = 0;
  for (std::int64_t first = 0; first < s.k; first += split, ++parts) {
    const std::int64_t last = std::min(s.k, first + split);
    const std::vector<double> rows(b.begin() + first * s.n, b.begin() + last * s.n);
    const SumBounds part = sum_bounds(c, machine, *unit.model, s.m, s.n, last - first,
                                      columns_of(a, s.m, s.k, first, last), rows, {}, threads);
    for (std::size_t i = 0; i < all.size.size(); ++i) {
      all.size[i] += part.size[i];
      all.error[i] += part.error[i];
    }
  }
  // The bias is rounded to float32 before it is added.
  const double n = (parts + (bias.empty() ? 0 : 2)) * 0x1p-24, roundings = n / (1 - n);
  for (std::size_t i = 0; i < all.size.size(); ++i) {
    if (!bias.empty()) all.size[i] += std::abs(bias[i % bias.size()]);
    all.error[i] += roundings * (all.size[i] + all.error[i]) + (parts + 1) * 0x1p-150;
  }
  return all;
}

Tensor matmul_bounds(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  const Format& output = c.output_format();
  const MatrixUnit unit = matrix_unit({c, machine, output, threads});
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  const auto part = static_cast<std::size_t>(s.m * s.n);
  std::vector<double> bounds;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const TensorView a = matmul_matrix(c, "a", batch), b = matmul_matrix(c, "b", batch);
    (void)finite_values(c, "a", a);
    (void)finite_values(c, "b", b);
    if (unit.sums_exactly()) {
      bounds.insert(bounds.end(), part, 0.0);
      continue;
    }
    const SumBounds sums =
        bounds_of_sums(c, machine, unit, s, unit.operand(a), unit.operand(b), bias, threads);
    for (const double error : sums.error) {
      // All of it is rounded once to the output's format.
      bounds.push_back(error * (1 + unit_roundoff(output)));
    }
  }
  return Tensor::from_values(format_named("float64"), s.output, bounds);
}

ExpectedErrors matmul_errors(const Case& c, const Machine& machine, int threads) {
  require_matrix_unit(c, machine);
  const Format& output = c.output_format();
  const MatrixUnit unit = matrix_unit({c, machine, output, threads});
  const MatmulShape s = matmul_shape(c);
  const std::vector<double> bias = matmul_bias(c);
  ExpectedErrors all;
  all.last = &output;
  if (unit.sums_exactly()) {
    all.resize(static_cast<std::size_t>(element_count(s.output)));
    return all;
  }
  // Parts of K are added in order in float32, as partial sums that are promoted are.
  const bool any = &machine == &any_machine();
  const DotModel model = any ? *unit.model : *product_model(c, machine, output);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const TensorView a = matmul_matrix(c, "a", batch), b = matmul_matrix(c, "b", batch);
    (void)finite_values(c, "a", a);
    (void)finite_values(c, "b", b);
    all.append(expected_sums(c, machine, model, output, s.m, s.n, s.k, unit.operand(a),
                             unit.operand(b), bias, threads));
  }
  return all;
}

DerivedTolerance matmul_tolerance(const Case& c) {
  const Format& output = c.output_format();
  if (!output.is_float()) return {0, 0, std::string(kExactSums)};
  if (const Machine* machine = machine_of(c)) {
    return accumulation_tolerance(output, *machine,
                                  accumulation_bounds(c, *machine).view().values());
  }
  const double rtol = unit_roundoff(output), tiny = min_subnormal(output) / 2;
  require_machine(c);
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
        throw CaseError(c.name, "no tolerance can be derived: its inputs hold NaN or infinity");
      }
      largest = std::max(largest, v);
    }
  }
  // Besides a sum's relative roundings those below float32's normal numbers.
  const auto k = static_cast<double>(s.k);
  return {rtol, (1 + rtol) * (k * 0x1p-24 * largest + (k + 1) * 0x1p-150) + tiny,
          format("rtol: half a {} ulp; atol: K 2^-24 max sum_k |a_ik b_kj|, the error of float32 "
                 "accumulation in any order (K = {}, sum at most {})",
                 output.name, s.k, short_number(largest, 4))};
}

// Sizes are M, K, N, batch dimensions before them. A bias is of the output's dtype.
void generate_matmul(const Recipe& recipe, Case& c) {
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  check_sizes(recipe, c, 3, kAnyRank, "sizes M,K,N of at least 1, batch dimensions before them");
  const Shape batch(sizes.begin(), sizes.end() - 3);
  const auto operand = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    if (flag_of(c, "transpose_" + name)) std::swap(rows, columns);
    Shape shape = batch;
    shape.push_back(rows);
    shape.push_back(columns);
    c.inputs[name] = recipe.draw_input(name, *recipe.dtype, shape);
  };
  const std::int64_t n = sizes.back(), k = sizes[sizes.size() - 2], m = sizes[sizes.size() - 3];
  operand("a", m, k);
  operand("b", k, n);
  if (recipe.names("bias")) c.inputs["bias"] = recipe.draw_input("bias", c.output_format(), {n});
}

}  // namespace

std::vector<Operator> matmul_operators() {
  return {{.name = "matmul",
           .summary = "a b, plus bias; batch dimensions are those of both operands, or of one",
           .inputs = {{.name = "a", .shape = "(..., M, K)"},
                      {.name = "b", .shape = "(..., K, N)"},
                      {.name = "bias",
                       .shape = "(N)",
                       .optional = true,
                       .words = "added to every row, in the output's dtype"}},
           .parameters = product_parameters({transpose_parameter("a"), transpose_parameter("b")}),
           .output = "c",
           .run = run_matmul,
           .reference = matmul_reference,
           .output_format = product_format,
           .element_bounds = matmul_bounds,
           .expected_errors = matmul_errors,
           .tolerance = matmul_tolerance,
           .generate = generate_matmul,
           .product = true}};
}

}  // namespace assay
