// matmul: C = A B (+ bias), batches of matrices, either operand transposed.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/op/accumulation.h"
#include "assay/op/dot.h"
#include "assay/op/operator.h"

namespace assay {
Tensor run_matmul(const Call& call) {
  const Case& c = call.test_case;
  const MatmulShape s = matmul_shape(c);
  const MatrixUnit unit = matrix_unit(call);
  const std::vector<double> bias = matmul_bias(c);

  Tensor result(call.output, s.output);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  const auto bytes = count * static_cast<std::size_t>(call.output.storage_bytes);
  std::vector<double> values(count);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = unit.operand(matmul_matrix(c, "a", batch)),
                              b = unit.operand(matmul_matrix(c, "b", batch));
    for (std::size_t i = 0; i < count; ++i) values[i] = bias.empty() ? 0.0 : bias[i % bias.size()];
    if (unit.is_exact()) {
      exact_matmul(s.m, s.n, s.k, a.data(), b.data(), values.data(), call.threads);
    } else {
      std::vector<float> sums(count, 0.0f);
      const bool first = call.machine.bias_first.value;
      if (first) sums.assign(values.begin(), values.end());
      dot_matmul(*unit.model, s.m, s.n, s.k, a.data(), b.data(), sums.data(), call.threads,
                 unit.split_k);
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = static_cast<double>(
            first || bias.empty() ? sums[i] : sums[i] + static_cast<float>(values[i]));
      }
    }
    encode_array(call.output, values.data(), count,
                 result.bytes() + static_cast<std::size_t>(batch) * bytes);
  }
  return result;
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
        throw std::invalid_argument(format(
            "case {}: no tolerance can be derived: its inputs hold NaN or infinity", c.name));
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

}  // namespace assay
