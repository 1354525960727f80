// Random matrix products as the emulated Ascend 910B computes them, for statistics over many rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/format/convert.h"
#include "assay/machine/dot.h"
#include "assay/tensor/tensor.h"

namespace assay::testing_products {

// Draws one value at a time from a stream.
using Draw = std::function<double(Random&)>;

struct Distribution {
  std::string name;
  Draw draw;
  bool identical_columns = false;  // of B
};

inline Distribution normal(const std::string& name, double mean, double deviation) {
  return {name, [=](Random& r) { return mean + deviation * r.normal(); }};
}
inline Distribution uniform(const std::string& name, double low, double high) {
  return {name, [=](Random& r) { return low + (high - low) * r.uniform(); }};
}

struct Product {
  std::int64_t m, n, k;
  Tensor a, b, c;
};

// Returns product number `index` of a distribution. Its operands and its result have the dtype, and
// the result is rounded once from float32 sums.
inline Product make_product(const Distribution& d, std::int64_t m, std::int64_t n, std::int64_t k,
                            std::uint64_t index, const char* dtype = "bfloat16") {
  const Format& f = format_named(dtype);
  Random random(20260801, index);
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  std::vector<double> a(at(m * k)), b(at(k * n));
  for (double& v : a) v = d.draw(random);
  if (d.identical_columns) {
    for (std::int64_t kk = 0; kk < k; ++kk) {
      std::fill_n(b.begin() + kk * n, n, d.draw(random));
    }
  } else {
    for (double& v : b) v = d.draw(random);
  }
  Product p{m, n, k, Tensor::from_values(f, {m, k}, a), Tensor::from_values(f, {k, n}, b), {}};
  a = p.a.view().values();
  b = p.b.view().values();
  std::vector<float> sums(at(m * n), 0.0f);
  dot_matmul(dot_model(machine_named("ascend910b"), f), m, n, k, a.data(), b.data(), sums.data(),
             1);
  p.c = Tensor::from_values(f, {m, n}, std::vector<double>(sums.begin(), sums.end()));
  return p;
}

}  // namespace assay::testing_products
