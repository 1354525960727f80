// The results of operators, computed from their formulas in long double. No code is shared with the
// emulated operators or their golden results. These are the operators that the tests of campaigns
// use. An operator that has a dimension works along the last one (reduce_sum: along `axis`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "assay/cases/case.h"

namespace assay::testing_reference {

using Real = long double;
using Values = std::vector<Real>;

inline Values values_of(const Case& c, const char* name) {
  const std::vector<double> v = c.input(name).view().values();
  return {v.begin(), v.end()};
}

inline Values softmax_of(Values row) {
  const Real largest = *std::max_element(row.begin(), row.end());
  Real sum = 0;
  for (Real& v : row) sum += v = std::exp(v - largest);
  for (Real& v : row) v /= sum;
  return row;
}

inline Values layernorm_of(const Values& row, const Values& weight, const Values& bias, Real eps) {
  const auto n = static_cast<Real>(row.size());
  Real mean = 0, square = 0;
  for (const Real v : row) mean += v / n;
  for (const Real v : row) square += (v - mean) * (v - mean) / n;
  Values out;
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.push_back((row[i] - mean) / std::sqrt(square + eps) * weight[i] + bias[i]);
  }
  return out;
}

// Returns the product of a [m, k] and b, which is [k, n], or [n, k] if `transposed` is set.
inline Values product_of(const Values& a, const Values& b, std::size_t m, std::size_t n,
                         std::size_t k, bool transposed) {
  Values c(m * n, 0);
  for (std::size_t i = 0; i < m * n; ++i) {
    for (std::size_t kk = 0; kk < k; ++kk) {
      c[i] += a[i / n * k + kk] * (transposed ? b[i % n * k + kk] : b[kk * n + i % n]);
    }
  }
  return c;
}

inline Values reference(const Case& c) {
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  Values out;
  if (c.op == "exp") {
    out = values_of(c, "x");
    for (Real& v : out) v = std::exp(v);
  } else if (c.op == "axpy") {
    const Values a = values_of(c, "a"), x = values_of(c, "x"), y = values_of(c, "y");
    for (std::size_t i = 0; i < y.size(); ++i) {
      out.push_back(a[a.size() == 1 ? 0 : i] * x[x.size() == 1 ? 0 : i] + y[i]);
    }
  } else if (c.op == "softmax" || c.op == "layernorm") {
    const Values x = values_of(c, "x");
    const std::size_t n = at(c.input("x").shape().back());
    const Values weight = c.inputs.count("weight") != 0 ? values_of(c, "weight") : Values(n, 1);
    const Values bias = c.inputs.count("bias") != 0 ? values_of(c, "bias") : Values(n, 0);
    const Real eps = c.attributes.count("eps") != 0 ? std::get<double>(c.attributes.at("eps"))
                                                    : static_cast<Real>(1e-5);
    for (auto row = x.begin(); row != x.end(); row += static_cast<std::ptrdiff_t>(n)) {
      const Values given(row, row + static_cast<std::ptrdiff_t>(n));
      const Values made =
          c.op == "softmax" ? softmax_of(given) : layernorm_of(given, weight, bias, eps);
      out.insert(out.end(), made.begin(), made.end());
    }
  } else if (c.op == "reduce_sum" || c.op == "reduce_mean") {
    const Values x = values_of(c, "x");
    const Shape& shape = c.input("x").shape();
    const std::size_t axis =
        c.attributes.count("axis") != 0 ? at(std::get<std::int64_t>(c.attributes.at("axis"))) : 0;
    std::size_t inner = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= at(shape[d]);
    const std::size_t length = at(shape[axis]);
    out.assign(x.size() / length, 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      out[i / (inner * length) * inner + i % inner] += x[i];
    if (c.op == "reduce_mean") {
      for (Real& v : out) v /= static_cast<Real>(length);
    }
  } else if (c.op == "matmul") {  // of two matrices
    const Shape &a = c.input("a").shape(), &b = c.input("b").shape();
    out = product_of(values_of(c, "a"), values_of(c, "b"), at(a[0]), at(b[1]), at(a[1]), false);
    if (c.inputs.count("bias") != 0) {
      const Values bias = values_of(c, "bias");
      for (std::size_t i = 0; i < out.size(); ++i) out[i] += bias[i % bias.size()];
    }
  } else if (c.op == "attention") {  // softmax(q k^T / sqrt(D)) v, of each matrix of the batch
    const Values q = values_of(c, "q"), k = values_of(c, "k"), v = values_of(c, "v");
    const Shape &shape = c.input("q").shape(), &keys = c.input("k").shape();
    const std::size_t depth = at(shape.back()), length = at(shape[shape.size() - 2]),
                      count = at(keys[keys.size() - 2]), width = at(c.input("v").shape().back());
    const auto part = [](const Values& all, std::size_t index, std::size_t size) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(index * size);
      return Values(first, first + static_cast<std::ptrdiff_t>(size));
    };
    for (std::size_t batch = 0; batch < q.size() / (length * depth); ++batch) {
      Values scores = product_of(part(q, batch, length * depth), part(k, batch, count * depth),
                                 length, count, depth, true);
      for (Real& s : scores) s /= std::sqrt(static_cast<Real>(depth));
      Values weights;
      for (std::size_t i = 0; i < length; ++i) {
        const Values row = softmax_of(part(scores, i, count));
        weights.insert(weights.end(), row.begin(), row.end());
      }
      const Values made =
          product_of(weights, part(v, batch, count * width), length, width, count, false);
      out.insert(out.end(), made.begin(), made.end());
    }
  } else {
    throw std::invalid_argument("no reference for " + c.op);
  }
  return out;
}

}  // namespace assay::testing_reference
