// matmul: C = A B (+ bias), batches of matrices, either operand transposed.
#include <cmath>
#include <stdexcept>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/op/operator.h"

namespace assay {
namespace {

// The operand as the product sees it.
TensorView operand(const Case& c, const std::string& name) {
  const Tensor& tensor = c.input(name);
  if (tensor.shape().size() < 2) {
    throw std::invalid_argument(
        format("case {}: matmul needs '{}' with at least two dimensions; "
               "its shape is {}",
               c.name, name, shape_text(tensor.shape())));
  }
  const bool transpose = c.flag("transpose_" + name).value_or(false);
  return transpose ? tensor.view().transposed() : tensor.view();
}

Shape batch_of(const TensorView& v) { return Shape(v.shape.begin(), v.shape.end() - 2); }

}  // namespace

MatmulShape matmul_shape(const Case& c) {
  const TensorView a = operand(c, "a"), b = operand(c, "b");
  const auto last = [](const TensorView& v, std::size_t back) {
    return v.shape[v.shape.size() - back];
  };
  const Shape batch_a = batch_of(a), batch_b = batch_of(b);
  MatmulShape s{1, last(a, 2), last(b, 1), last(a, 1), batch_a.empty() ? batch_b : batch_a};
  if (s.k != last(b, 2)) {
    throw std::invalid_argument(
        format("case {}: a {} and b {} do not multiply: K is {} in a and {} in b", c.name,
               shape_text(a.shape), shape_text(b.shape), s.k, last(b, 2)));
  }
  if (!batch_a.empty() && !batch_b.empty() && batch_a != batch_b) {
    throw std::invalid_argument(
        format("case {}: the batch dimensions of a {} and b {} differ; they must be equal, or one "
               "of the two must have none",
               c.name, shape_text(a.shape), shape_text(b.shape)));
  }
  s.batch = element_count(s.output);
  s.output.push_back(s.m);
  s.output.push_back(s.n);
  if (c.inputs.count("bias") != 0 && c.input("bias").shape() != Shape{s.n}) {
    throw std::invalid_argument(format("case {}: bias {} must have the shape [{}]", c.name,
                                       shape_text(c.input("bias").shape()), s.n));
  }
  return s;
}

std::vector<double> matmul_operand(const Case& c, const std::string& name, std::int64_t batch) {
  TensorView v = operand(c, name);
  const std::int64_t size = v.shape[v.shape.size() - 1] * v.shape[v.shape.size() - 2];
  std::vector<double> values(static_cast<std::size_t>(size));
  v.read(v.rank() == 2 ? 0 : batch * size, size, values.data());
  return values;
}

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
  if (!in.is_float() && in.name != "int8") {
    throw std::invalid_argument(
        format("case {}: matmul takes float and int8 operands, not {}", c.name, in.name));
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
  const std::vector<double> bias =
      c.inputs.count("bias") != 0 ? c.input("bias").view().values() : std::vector<double>();

  Tensor result(call.output, s.output);
  const auto count = static_cast<std::size_t>(s.m * s.n);
  const auto bytes = count * static_cast<std::size_t>(call.output.storage_bytes);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> values(count);
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    const std::vector<double> a = matmul_operand(c, "a", batch), b = matmul_operand(c, "b", batch);
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

}  // namespace assay
