#include "assay/tensor/product.h"

#include <stdexcept>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay {
namespace {

// The operand as the product sees it.
TensorView operand(const Case& c, const std::string& name) {
  const Tensor& tensor = c.input(name);
  if (tensor.shape().size() < 2) {
    throw CaseError(c.name,
                    format("{} needs '{}' with at least two dimensions; "
                           "its shape is {}",
                           c.op.empty() ? "a product" : c.op, name, shape_text(tensor.shape())));
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
    throw CaseError(c.name, format("a {} and b {} do not multiply: K is {} in a and {} in b",
                                   shape_text(a.shape), shape_text(b.shape), s.k, last(b, 2)));
  }
  if (!batch_a.empty() && !batch_b.empty() && batch_a != batch_b) {
    throw CaseError(
        c.name, format("the batch dimensions of a {} and b {} differ; they must be equal, or one "
                       "of the two must have none",
                       shape_text(a.shape), shape_text(b.shape)));
  }
  s.batch = element_count(s.output);
  s.output.push_back(s.m);
  s.output.push_back(s.n);
  if (c.inputs.count("bias") != 0 && c.input("bias").shape() != Shape{s.n}) {
    throw CaseError(c.name, format("bias {} must have the shape [{}]",
                                   shape_text(c.input("bias").shape()), s.n));
  }
  return s;
}

TensorView matmul_matrix(const Case& c, const std::string& name, std::int64_t batch) {
  TensorView v = operand(c, name);
  if (v.rank() == 2) return v;
  // The batch dimensions count in row-major order, whatever their strides.
  std::int64_t rest = batch, offset = 0;
  for (std::size_t d = v.shape.size() - 2; d-- > 0;) {
    offset += rest % v.shape[d] * v.strides[d];
    rest /= v.shape[d];
  }
  return {v.data + offset * v.format->storage_bytes, v.format,
          Shape(v.shape.end() - 2, v.shape.end()), Strides(v.strides.end() - 2, v.strides.end())};
}

std::vector<double> matmul_bias(const Case& c) {
  return c.inputs.count("bias") != 0 ? c.input("bias").view().values() : std::vector<double>();
}

}  // namespace assay
