// Tests that every mutation does what its row says, and nothing else.
#include "assay/fault/mutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace assay::fault {
namespace {

const Mutation& named(std::string_view name) {
  for (const Mutation& m : mutations()) {
    if (m.name == name) return m;
  }
  throw std::invalid_argument("no such mutation");
}

Tensor counted(std::string_view dtype, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i + 1);
  return Tensor::from_values(format_named(dtype), shape, values);
}

std::vector<double> after(std::string_view name, const Case& c, const Tensor& t) {
  const auto changed = mutate(named(name), c, t);
  return changed ? changed->view().values() : std::vector<double>{};
}

TEST(Mutations, AreTenWithNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Mutation& m : mutations()) EXPECT_TRUE(names.insert(m.name).second);
  EXPECT_EQ(names.size(), 10u);
}

TEST(Mutations, OfElements) {
  const Tensor t = counted("float32", {4});
  EXPECT_EQ(after("sign", {}, t), (std::vector<double>{-1, -2, -3, -4}));
  EXPECT_EQ(after("zero", {}, t), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(after("off_by_one", {}, t), (std::vector<double>{2, 3, 4, 4}));
  EXPECT_EQ(after("off_by_one", {}, counted("float32", {2})), (std::vector<double>{2, 2}));
  EXPECT_EQ(after("one_ulp", {}, t),
            (std::vector<double>{1 + 0x1p-23, 2 + 0x1p-22, 3 + 0x1p-22, 4 + 0x1p-21}));
  const Tensor integers = counted("int8", {3});
  EXPECT_EQ(after("sign", {}, integers), (std::vector<double>{-1, -2, -3}));
  EXPECT_EQ(after("one_ulp", {}, integers), (std::vector<double>{2, 3, 4}));
}

// In complex outputs, whole elements move, and a change of sign negates both parts. Mutations that
// need an order do not apply.
TEST(Mutations, OfComplexNumbers) {
  for (const char* dtype : {"complex32", "complex64", "complex128"}) {
    const Tensor t = Tensor::from_values(format_named(dtype), {2, 2},
                                         std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
    const auto parts_after = [&](std::string_view name) {
      const auto changed = mutate(named(name), {}, t);
      return changed ? parts_of(*changed).values() : std::vector<double>{};
    };
    EXPECT_EQ(parts_after("sign"), (std::vector<double>{-1, -2, -3, -4, -5, -6, -7, -8}));
    EXPECT_EQ(parts_after("zero"), std::vector<double>(8));
    EXPECT_EQ(parts_after("swapped_rows"), (std::vector<double>{5, 6, 7, 8, 1, 2, 3, 4}));
    EXPECT_EQ(parts_after("transposed_tile"), (std::vector<double>{1, 2, 5, 6, 3, 4, 7, 8}));
    EXPECT_EQ(parts_after("off_by_one"), (std::vector<double>{3, 4, 5, 6, 7, 8, 7, 8}));
    for (const char* name : {"one_ulp", "truncation", "dropped_k_chunk", "fp16_accumulation"}) {
      EXPECT_FALSE(mutate(named(name), {}, t)) << name;
    }
  }
}

TEST(Mutations, OfMatrices) {
  EXPECT_EQ(after("swapped_rows", {}, counted("float32", {3, 2})),
            (std::vector<double>{1, 2, 5, 6, 3, 4}));
  EXPECT_EQ(after("transposed_tile", {}, counted("float32", {2, 3})),
            (std::vector<double>{1, 4, 3, 2, 5, 6}));
  // In a matrix of 16 x 32, the right tile holds the values of the left one.
  const std::vector<double> stale = after("stale_tile", {}, counted("float32", {16, 32}));
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 32; ++j) {
      EXPECT_EQ(stale[i * 32 + j], static_cast<double>(i * 32 + j % 16 + 1));
    }
  }
}

// Each element of the mutated output holds the number of the element that it came from. Only the
// first of the matrices changes.
TEST(Mutations, OfMatricesThatNoTileFits) {
  const auto expect = [](std::string_view name, const Shape& shape, auto source) {
    const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
    std::vector<double> wanted;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const bool first = i < rows * columns;
      wanted.push_back(static_cast<double>(first ? source(i / columns, i % columns) + 1 : i + 1));
    }
    EXPECT_EQ(after(name, {}, counted("float32", shape)), wanted) << name << " " << rows;
  };
  expect("stale_tile", {2, 17, 33},
         [](std::int64_t i, std::int64_t j) { return i * 33 + (i >= 1 && j >= 17 ? j - 16 : j); });
  expect("stale_tile", {3, 40, 20},
         [](std::int64_t i, std::int64_t j) { return (i >= 24 && j >= 4 ? i - 16 : i) * 20 + j; });
  expect("stale_tile", {5, 32},
         [](std::int64_t i, std::int64_t j) { return i * 32 + (j >= 16 ? j - 16 : j); });
  expect("stale_tile", {32, 5},
         [](std::int64_t i, std::int64_t j) { return (i >= 16 ? i - 16 : i) * 5 + j; });
  for (const Shape& shape : {Shape{31, 31}, Shape{16, 31}, Shape{31, 16}, Shape{3, 5}}) {
    EXPECT_FALSE(mutate(named("stale_tile"), {}, counted("float32", shape)).has_value());
  }
  expect("transposed_tile", {2, 20, 18},
         [](std::int64_t i, std::int64_t j) { return i < 16 && j < 16 ? j * 18 + i : i * 18 + j; });
  expect("swapped_rows", {2, 4, 3}, [](std::int64_t i, std::int64_t j) {
    return (i == 1 ? 2 : i == 2 ? 1 : i) * 3 + j;
  });
  expect("swapped_rows", {5, 2}, [](std::int64_t i, std::int64_t j) {
    return (i == 2 ? 3 : i == 3 ? 2 : i) * 2 + j;
  });
}

TEST(Mutations, NotWhereTheyDoNothing) {
  const Tensor zeros = Tensor::from_values(format_named("float32"), {2, 2}, std::vector<double>(4));
  EXPECT_FALSE(mutate(named("zero"), {}, zeros).has_value());
  EXPECT_FALSE(mutate(named("swapped_rows"), {}, zeros).has_value());
  const Tensor vector = counted("float32", {5});
  for (const char* name : {"swapped_rows", "transposed_tile", "stale_tile", "dropped_k_chunk",
                           "truncation", "fp16_accumulation"}) {
    EXPECT_FALSE(mutate(named(name), {}, vector).has_value()) << name;
  }
  // Matrices of one row have no other row to exchange it with.
  EXPECT_FALSE(mutate(named("swapped_rows"), {}, counted("float32", {2, 1, 5})).has_value());
  EXPECT_FALSE(mutate(named("sign"), {}, counted("uint8", {3})).has_value());
  const Tensor empty(format_named("float32"), {0, 3});
  for (const Mutation& m : mutations()) EXPECT_FALSE(mutate(m, {}, empty).has_value()) << m.name;
}

// If an output has no second row, tile or element to change with, the row of the table itself
// refuses it.
TEST(Mutations, NeedMoreThanOneOfWhatTheyMove) {
  const auto applies = [](std::string_view name, const Shape& shape) {
    return named(name).apply({}, counted("float32", shape)).has_value();
  };
  EXPECT_FALSE(applies("off_by_one", {0}));
  EXPECT_FALSE(applies("off_by_one", {1}));
  EXPECT_FALSE(applies("off_by_one", {}));
  EXPECT_TRUE(applies("off_by_one", {2}));
  EXPECT_FALSE(applies("transposed_tile", {1, 5}));
  EXPECT_FALSE(applies("transposed_tile", {5, 1}));
  EXPECT_TRUE(applies("transposed_tile", {2, 2}));
  EXPECT_FALSE(applies("swapped_rows", {3, 1, 5}));
  EXPECT_TRUE(applies("swapped_rows", {3, 2, 5}));
  EXPECT_FALSE(applies("stale_tile", {1, 1}));
  EXPECT_TRUE(applies("stale_tile", {1, 32}));
  EXPECT_TRUE(applies("stale_tile", {32, 1}));
}

// A format that holds only scales has no zero, and 2^-127 would be another value. So the mutation
// `zero` does not apply.
TEST(Mutations, ScalesHaveNoZero) {
  EXPECT_FALSE(mutate(named("zero"), {}, counted("float8_e8m0fnu", {3})).has_value());
}

TEST(Mutations, InfinityAndNanStayWhatTheyAre) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor t = Tensor::from_values(format_named("float16"), {3},
                                       std::vector<double>{std::nan(""), inf, 65504});
  EXPECT_FALSE(mutate(named("one_ulp"), {}, t).has_value()) << "none of them has a next value";
  const std::vector<double> negated = after("sign", {}, t);
  EXPECT_TRUE(std::isnan(negated[0]));
  EXPECT_EQ(negated[1], -inf);
}

Case product(std::int64_t k, double each) {
  Case c;
  c.op = "matmul";
  const auto n = static_cast<std::size_t>(k);
  c.inputs["a"] =
      Tensor::from_values(format_named("float32"), {1, k}, std::vector<double>(n, each));
  c.inputs["b"] = Tensor::from_values(format_named("float32"), {k, 1}, std::vector<double>(n, 1));
  return c;
}

TEST(Mutations, OfProducts) {
  // K = 20 is a chunk of 16 products and one of 4. The last four products are missing.
  Tensor out = Tensor::from_values(format_named("float32"), {1, 1}, std::vector<double>{20});
  EXPECT_EQ(after("dropped_k_chunk", product(20, 1), out), std::vector<double>{16});
  // If K is a whole number of chunks, the last chunk is missing. If it is a single chunk, all
  // products are missing.
  for (const std::int64_t k : {16, 17, 32, 48}) {
    out = Tensor::from_values(format_named("float32"), {1, 1},
                              std::vector<double>{static_cast<double>(k)});
    EXPECT_EQ(after("dropped_k_chunk", product(k, 1), out),
              std::vector<double>{static_cast<double>((k - 1) / 16 * 16)})
        << k;
  }
  // Each of the 32 products is 128.0625. The mutation adds 16 at once, which gives 2049, and
  // float16 rounds it to 2048. The next 16 give 2048 + 2049 = 4097, which is rounded to 4096.
  const double each = 128.0625;
  out = Tensor::from_values(format_named("float32"), {1, 1}, std::vector<double>{32 * each});
  EXPECT_EQ(after("fp16_accumulation", product(32, each), out), std::vector<double>{4096});
}

// These outputs do not have the shape of the operands' product, so that mutations of products do
// not apply.
TEST(Mutations, OfProductsWhoseOutputFits) {
  for (const Shape& shape : {Shape{1, 2}, Shape{2, 1}, Shape{1, 1, 1}, Shape{1}}) {
    const Tensor out = counted("float32", shape);
    EXPECT_FALSE(mutate(named("dropped_k_chunk"), product(20, 1), out).has_value());
    EXPECT_FALSE(mutate(named("fp16_accumulation"), product(32, 128.0625), out).has_value());
  }
}

// Each row of each matrix loses its own products, the last 4 of 20: a(i, k) = i + 1 and b(k, j) = j
// + 1, which is twice as much in the second of the two matrices.
TEST(Mutations, OfEveryElementOfProducts) {
  constexpr std::int64_t kBatch = 2, kRows = 24, kColumns = 21, kLength = 20;
  const Format& single = format_named("float32");
  std::vector<double> a, b, whole, without;
  for (std::int64_t matrix = 0; matrix < kBatch; ++matrix) {
    const auto times = static_cast<double>(matrix + 1);
    for (std::int64_t i = 0; i < kRows; ++i) {
      a.insert(a.end(), kLength, static_cast<double>(i + 1));
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const double one = times * static_cast<double>((i + 1) * (j + 1));
        whole.push_back(20 * one);
        without.push_back(16 * one);
      }
    }
    for (std::int64_t k = 0; k < kLength; ++k) {
      for (std::int64_t j = 0; j < kColumns; ++j) b.push_back(times * static_cast<double>(j + 1));
    }
  }
  Case c;
  c.op = "matmul";
  c.inputs["a"] = Tensor::from_values(single, {kBatch, kRows, kLength}, a);
  c.inputs["b"] = Tensor::from_values(single, {kBatch, kLength, kColumns}, b);
  const Tensor out = Tensor::from_values(single, {kBatch, kRows, kColumns}, whole);
  EXPECT_EQ(after("dropped_k_chunk", c, out), without);
  EXPECT_EQ(out.view().values(), whole);
}

// The products are small integers that differ from one k to the next. Their sums are float16
// numbers, and recomputed sums start from the bias.
TEST(Mutations, OfProductsThatDifferAlongK) {
  constexpr std::int64_t kBatch = 2, kRows = 3, kColumns = 5, kLength = 20;
  const auto a_at = [](std::int64_t matrix, std::int64_t i, std::int64_t k) {
    return static_cast<double>(matrix + i + k % 3 + 1);
  };
  const auto b_at = [](std::int64_t matrix, std::int64_t k, std::int64_t j) {
    return static_cast<double>(matrix + k % 7 + j);
  };
  const std::vector<double> bias = {3, -1, 4, -1, 5};
  std::vector<double> a, b, zeros, last_four, all;
  for (std::int64_t matrix = 0; matrix < kBatch; ++matrix) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      for (std::int64_t k = 0; k < kLength; ++k) a.push_back(a_at(matrix, i, k));
      for (std::int64_t j = 0; j < kColumns; ++j) {
        double last = 0, sum = 0;
        for (std::int64_t k = 0; k < kLength; ++k) {
          const double one = a_at(matrix, i, k) * b_at(matrix, k, j);
          sum += one;
          last += k >= 16 ? one : 0;
        }
        zeros.push_back(0);
        last_four.push_back(-last);
        all.push_back(sum + bias[static_cast<std::size_t>(j)]);
      }
    }
    for (std::int64_t k = 0; k < kLength; ++k) {
      for (std::int64_t j = 0; j < kColumns; ++j) b.push_back(b_at(matrix, k, j));
    }
  }
  const Format& single = format_named("float32");
  Case c;
  c.op = "matmul";
  c.inputs["a"] = Tensor::from_values(single, {kBatch, kRows, kLength}, a);
  c.inputs["b"] = Tensor::from_values(single, {kBatch, kLength, kColumns}, b);
  c.inputs["bias"] = Tensor::from_values(single, {kColumns}, bias);
  const Tensor out = Tensor::from_values(single, {kBatch, kRows, kColumns}, zeros);
  EXPECT_EQ(after("dropped_k_chunk", c, out), last_four);
  EXPECT_EQ(after("fp16_accumulation", c, out), all);
}

TEST(Mutations, Truncation) {
  Case c;
  c.output().golden =
      Tensor::from_values(format_named("float64"), {2}, std::vector<double>{1.999, -1.999});
  const Tensor out =
      Tensor::from_values(format_named("bfloat16"), {2}, std::vector<double>{1.999, -1.999});
  EXPECT_EQ(out.view().value_at(0), 2);
  EXPECT_EQ(after("truncation", c, out), (std::vector<double>{1.9921875, -1.9921875}));
}

// Truncation can only be derived from a golden result of the same elements in more bits.
TEST(Mutations, TruncationNeedsAFinerGoldenResult) {
  const auto golden = [](std::string_view dtype, const Shape& shape) {
    Case c;
    const auto n = static_cast<std::size_t>(element_count(shape));
    c.output().golden =
        Tensor::from_values(format_named(dtype), shape, std::vector<double>(n, 1.75));
    return c;
  };
  const Tensor out =
      Tensor::from_values(format_named("float8_e4m3fn"), {2}, std::vector<double>(2, 2));
  EXPECT_TRUE(mutate(named("truncation"), golden("bfloat16", {2}), out).has_value());
  EXPECT_FALSE(mutate(named("truncation"), golden("bfloat16", {3}), out).has_value());
  EXPECT_FALSE(mutate(named("truncation"), golden("bfloat16", {2, 1}), out).has_value());
  EXPECT_FALSE(mutate(named("truncation"), golden("float8_e4m3fn", {2}), out).has_value());
  EXPECT_FALSE(mutate(named("truncation"), golden("int32", {2}), out).has_value());
  EXPECT_FALSE(mutate(named("truncation"), {}, out).has_value());
  const Tensor integers = Tensor::from_values(format_named("int8"), {2}, std::vector<double>(2, 2));
  EXPECT_FALSE(mutate(named("truncation"), golden("bfloat16", {2}), integers).has_value());
}

}  // namespace
}  // namespace assay::fault
