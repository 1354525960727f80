#include "assay/gate/product_sample.h"

#include <algorithm>

#include "assay/cases/product.h"

namespace assay {
namespace {

// Returns at most `most` of the indices 0 to n - 1, spread evenly.
std::vector<std::int64_t> spread(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = 0; i < std::min(n, most); ++i) {
    chosen.push_back(i * n / std::min(n, most));
  }
  return chosen;
}

}  // namespace

ProductSample sample_of_product(const Case& c, std::int64_t side) {
  const MatmulShape s = matmul_shape(c);
  const std::vector<std::int64_t> rows = spread(s.m, side), columns = spread(s.n, side);
  const auto extent = [](const std::vector<std::int64_t>& of) { return std::ssize(of); };
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
  part.inputs["a"] = Tensor::from_values(*a.format, {extent(rows), s.k}, of_a);
  part.inputs["b"] = Tensor::from_values(*b.format, {s.k, extent(columns)}, of_b);
  if (const std::vector<double> bias = matmul_bias(c); !bias.empty()) {
    for (const std::int64_t j : columns) of_bias.push_back(bias[static_cast<std::size_t>(j)]);
    part.inputs["bias"] = Tensor::from_values(c.input("bias").format(), {extent(columns)}, of_bias);
  }
  return sample;
}

}  // namespace assay
