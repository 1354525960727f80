#include "assay/cases/product.h"

#include "assay/base/text.h"
#include "assay/cases/product_operands.h"

namespace assay::inline v0_2 {
namespace {

// Returns an operand as the product uses it: transposed if the case says so.
TensorView seen(const ProductOperands& p, const char* operand, const TensorView& stored,
                bool transpose) {
  if (stored.rank() < 2) {
    refuse_case(p.name, "{} needs '{}' with at least two dimensions; its shape is {}",
                p.op.empty() ? "a product" : p.op, operand, shape_text(stored.shape));
  }
  return transpose ? stored.transposed() : stored;
}
TensorView seen_a(const ProductOperands& p) { return seen(p, "a", p.a, p.transpose_a); }
TensorView seen_b(const ProductOperands& p) { return seen(p, "b", p.b, p.transpose_b); }

Shape batch_of(const TensorView& v) { return Shape(v.shape.begin(), v.shape.end() - 2); }

TensorView matrix_of(const TensorView& v, std::int64_t batch) {
  if (v.rank() == 2) return v;
  // Computes the offset of matrix number `batch`. The batch dimensions count in row-major order,
  // whatever their strides.
  std::int64_t rest = batch, offset = 0;
  for (std::size_t d = v.shape.size() - 2; d-- > 0;) {
    offset += rest % v.shape[d] * v.strides[d];
    rest /= v.shape[d];
  }
  return {v.data + offset * v.format->storage_bytes, v.format,
          Shape(v.shape.end() - 2, v.shape.end()), Strides(v.strides.end() - 2, v.strides.end())};
}

}  // namespace

MatmulShape ProductOperands::shape() const {
  const TensorView left = seen_a(*this), right = seen_b(*this);
  const auto last = [](const TensorView& v, std::size_t back) {
    return v.shape[v.shape.size() - back];
  };
  const Shape batch_a = batch_of(left), batch_b = batch_of(right);
  MatmulShape s{1, last(left, 2), last(right, 1), last(left, 1),
                batch_a.empty() ? batch_b : batch_a};
  if (s.k != last(right, 2)) {
    refuse_case(name, "a {} and b {} do not multiply: K is {} in a and {} in b",
                shape_text(left.shape), shape_text(right.shape), s.k, last(right, 2));
  }
  if (!batch_a.empty() && !batch_b.empty() && batch_a != batch_b) {
    refuse_case(name,
                "the batch dimensions of a {} and b {} differ; they must be equal, or one of the "
                "two must have none",
                shape_text(left.shape), shape_text(right.shape));
  }
  s.batch = element_count(s.output);
  s.output.push_back(s.m);
  s.output.push_back(s.n);
  if (bias && bias->shape != Shape{s.n}) {
    refuse_case(name, "bias {} must have the shape [{}]", shape_text(bias->shape), s.n);
  }
  return s;
}

TensorView ProductOperands::matrix_a(std::int64_t batch) const {
  return matrix_of(seen_a(*this), batch);
}
TensorView ProductOperands::matrix_b(std::int64_t batch) const {
  return matrix_of(seen_b(*this), batch);
}

std::vector<double> ProductOperands::bias_values() const {
  return bias ? bias->values() : std::vector<double>();
}

ProductOperands product_operands(const Case& c) {
  ProductOperands p{.name = c.name,
                    .op = c.op,
                    .a = c.input("a").view(),
                    .b = c.input("b").view(),
                    .transpose_a = c.flag("transpose_a").value_or(false),
                    .transpose_b = c.flag("transpose_b").value_or(false)};
  if (c.inputs.count("bias") != 0) p.bias = c.input("bias").view();
  return p;
}

MatmulShape matmul_shape(const Case& c) { return product_operands(c).shape(); }

TensorView matmul_matrix(const Case& c, const std::string& name, std::int64_t batch) {
  const ProductOperands p = product_operands(c);
  return name == "a" ? p.matrix_a(batch) : p.matrix_b(batch);
}

std::vector<double> matmul_bias(const Case& c) {
  return c.inputs.count("bias") != 0 ? c.input("bias").view().values() : std::vector<double>();
}

}  // namespace assay
