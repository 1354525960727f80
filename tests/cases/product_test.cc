#include "assay/cases/product.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "error_of.h"

namespace assay {
namespace {

Tensor counted_tensor(const Shape& shape, double first = 0) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
  return Tensor::from_values(format_named("float32"), shape, values);
}

Case product(const Shape& a, const Shape& b) {
  Case c;
  c.name = "p";
  c.op = "matmul";
  c.inputs["a"] = counted_tensor(a);
  c.inputs["b"] = counted_tensor(b, 1000);
  return c;
}

std::string refusal_of(const Case& c) {
  return error_of([&] { matmul_shape(c); });
}

TEST(MatmulShapeTest, BatchesAndTransposes) {
  Case c = product({2, 3}, {3, 5});
  MatmulShape s = matmul_shape(c);
  EXPECT_EQ((std::vector<std::int64_t>{s.batch, s.m, s.n, s.k}),
            (std::vector<std::int64_t>{1, 2, 5, 3}));
  EXPECT_EQ(s.output, (Shape{2, 5}));

  c = product({4, 7, 3, 2}, {4, 7, 5, 3});
  c.attributes = {{"transpose_a", std::int64_t{1}}, {"transpose_b", "true"}};
  s = matmul_shape(c);
  EXPECT_EQ((std::vector<std::int64_t>{s.batch, s.m, s.n, s.k}),
            (std::vector<std::int64_t>{28, 2, 5, 3}));
  EXPECT_EQ(s.output, (Shape{4, 7, 2, 5}));

  EXPECT_EQ(matmul_shape(product({6, 2, 3}, {3, 5})).output, (Shape{6, 2, 5}));
  EXPECT_EQ(matmul_shape(product({2, 3}, {6, 3, 5})).output, (Shape{6, 2, 5}));
  EXPECT_EQ(matmul_shape(product({2, 0}, {0, 5})).k, 0);
  EXPECT_EQ(matmul_shape(product({0, 2, 3}, {3, 5})).batch, 0);
}

TEST(MatmulShapeTest, WhatDoesNotFitIsNamed) {
  EXPECT_EQ(refusal_of(product({2, 3}, {4, 5})),
            "case p: a [2, 3] and b [4, 5] do not multiply: K is 3 in a and 4 in b");
  Case c = product({2, 3}, {3, 5});
  c.attributes["transpose_a"] = std::int64_t{1};
  EXPECT_EQ(refusal_of(c), "case p: a [3, 2] and b [3, 5] do not multiply: K is 2 in a and 3 in b");
  EXPECT_EQ(refusal_of(product({6, 2, 3}, {7, 3, 5})),
            "case p: the batch dimensions of a [6, 2, 3] and b [7, 3, 5] differ; they must be "
            "equal, or one of the two must have none");
  EXPECT_EQ(refusal_of(product({3}, {3, 5})),
            "case p: matmul needs 'a' with at least two dimensions; its shape is [3]");
  EXPECT_EQ(refusal_of(product({2, 3}, {})),
            "case p: matmul needs 'b' with at least two dimensions; its shape is []");
  c = product({2, 3}, {3, 5});
  c.inputs["bias"] = counted_tensor({2});
  EXPECT_EQ(refusal_of(c), "case p: bias [2] must have the shape [5]");
  c.inputs["bias"] = counted_tensor({1, 5});
  EXPECT_EQ(refusal_of(c), "case p: bias [1, 5] must have the shape [5]");
  c = product({2, 3}, {3, 5});
  c.attributes["transpose_b"] = std::int64_t{2};
  EXPECT_EQ(refusal_of(c), "case p: attribute 'transpose_b' must be 0 or 1, but it is '2'");
  c.inputs.erase("b");
  EXPECT_EQ(refusal_of(c), "case p: matmul needs the input 'b'; its inputs are a");
}

TEST(MatmulMatrixTest, OneOfABatch) {
  Case c = product({2, 3, 4, 5}, {5, 6});
  for (std::int64_t batch = 0; batch < 6; ++batch) {
    const TensorView m = matmul_matrix(c, "a", batch);
    ASSERT_EQ(m.shape, (Shape{4, 5}));
    for (std::int64_t i = 0; i < 20; ++i) {
      EXPECT_EQ(m.value_at(i), static_cast<double>(batch * 20 + i));
    }
    EXPECT_EQ(matmul_matrix(c, "b", batch).value_at(29), 1029);  // b is the same for every batch
  }
}

TEST(MatmulMatrixTest, Transposed) {
  Case c = product({3, 5, 4}, {6, 5});
  c.attributes = {{"transpose_a", std::int64_t{1}}, {"transpose_b", std::int64_t{1}}};
  for (std::int64_t batch = 0; batch < 3; ++batch) {
    const TensorView m = matmul_matrix(c, "a", batch);
    ASSERT_EQ(m.shape, (Shape{4, 5}));
    const auto values = m.values();
    for (std::int64_t i = 0; i < 4; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        EXPECT_EQ(values[static_cast<std::size_t>(i * 5 + j)],
                  static_cast<double>(batch * 20 + j * 4 + i));
      }
    }
  }
  EXPECT_EQ(matmul_matrix(c, "b", 0).value_at(1), 1005);
}

TEST(MatmulBiasTest, ValuesOrNothing) {
  Case c = product({2, 3}, {3, 2});
  EXPECT_TRUE(matmul_bias(c).empty());
  c.inputs["bias"] = counted_tensor({2}, 8);
  EXPECT_EQ(matmul_bias(c), (std::vector<double>{8, 9}));
}

}  // namespace
}  // namespace assay
