#include "assay/gate/product_sample.h"

#include "assay/base/index.h"
#include "assay/cases/product.h"

namespace assay::inline v0_2 {
ProductSample sample_of_product(const Case& c, std::int64_t side) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<std::int64_t> rows = spread_indices(s.m, side),
                                  columns = spread_indices(s.n, side);
  const TensorView a = matmul_matrix(c, "a", 0), b = matmul_matrix(c, "b", 0);
  ProductSample sample;
  std::vector<double> of_a, of_b, of_bias;
  for (const std::int64_t i : rows) {
    const std::vector<double> row = a.at(i).values();
    of_a.insert(of_a.end(), row.begin(), row.end());
    for (const std::int64_t j : columns) sample.index.push_back(i * s.n + j);
  }
  for (std::int64_t k = 0; k < s.k; ++k) {
    for (const std::int64_t j : columns) of_b.push_back(b.value_at(k * s.n + j));
  }
  Case& part = sample.test_case;
  part.name = c.name;
  part.op = c.op;
  part.attributes = c.attributes;
  part.attributes.erase("transpose_a");
  part.attributes.erase("transpose_b");
  part.inputs["a"] = Tensor::from_values(*a.format, {std::ssize(rows), s.k}, of_a);
  part.inputs["b"] = Tensor::from_values(*b.format, {s.k, std::ssize(columns)}, of_b);
  if (const std::vector<double> bias = matmul_bias(c); !bias.empty()) {
    for (const std::int64_t j : columns) of_bias.push_back(bias[static_cast<std::size_t>(j)]);
    part.inputs["bias"] =
        Tensor::from_values(c.input("bias").format(), {std::ssize(columns)}, of_bias);
  }
  return sample;
}

}  // namespace assay
