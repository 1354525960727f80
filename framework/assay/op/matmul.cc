// matmul: C = A B (+ bias), batches of matrices, either operand transposed.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/op/operator.h"

namespace assay {
Tensor run_matmul(const Call& call) {
  const Case& c = call.test_case;
  const MatmulShape s = matmul_shape(c);
  const Format& in = c.input("a").format();
  if (&c.input("b").format() != &in && in.bits != c.input("b").format().bits) {
    throw std::invalid_argument(
        format("case {}: a is {} and b is {}; matmul takes operands of one "
               "width",
               c.name, in.name, c.input("b").format().name));
  }
  for (const Format* f : {&in, &c.input("b").format()}) {
    if (!f->is_float() && f->name != "int8") {
      throw std::invalid_argument(
          format("case {}: matmul takes float and int8 operands, not {}", c.name, f->name));
    }
  }
  const bool exact = call.machine.is_exact();
  if (!exact && c.integer("promotion_interval").value_or(0) != 0) {
    throw std::invalid_argument(
        format("case {}: {} has no promotion of partial sums, so "
               "promotion_interval must be 0",
               c.name, call.machine.name));
  }
  const DotModel* model = exact ? nullptr : &dot_model(call.machine, in);
  if (model != nullptr) dot_model(call.machine, c.input("b").format());
  const std::vector<double> bias = matmul_bias(c);

  Tensor result(call.output, s.output);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  const auto bytes = count * static_cast<std::size_t>(call.output.storage_bytes);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> values(count);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = matmul_matrix(c, "a", batch).values(),
                              b = matmul_matrix(c, "b", batch).values();
    // The bias is where the accumulator starts.
    if (exact) {
      for (std::int64_t i = 0; i < s.m * s.n; ++i) {
        values[at(i)] = bias.empty() ? 0.0 : bias[at(i % s.n)];
      }
      exact_matmul(s.m, s.n, s.k, a.data(), b.data(), values.data(), call.threads);
    } else {
      std::vector<float> sums(count);
      for (std::int64_t i = 0; i < s.m * s.n; ++i) {
        sums[at(i)] = bias.empty() ? 0.0f : static_cast<float>(bias[at(i % s.n)]);
      }
      dot_matmul(*model, s.m, s.n, s.k, a.data(), b.data(), sums.data(), call.threads);
      decode_array(format_named("float32"), reinterpret_cast<const std::byte*>(sums.data()), count,
                   values.data());
    }
    encode_array(call.output, values.data(), count,
                 result.bytes() + static_cast<std::size_t>(batch) * bytes);
  }
  return result;
}

DerivedTolerance matmul_tolerance(const Case& c) {
  const Format& output = c.output_format();
  if (!output.is_float()) no_tolerance(c);
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
