// Finds summation trees only from probes.
#include "assay/study/sum_tree.h"

#include <cblas.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/machine/dot.h"

namespace assay::study {
namespace {

using testing::HasSubstr;

// Returns the tree of a float32 sum.
SumTree reveal(std::int64_t n, const std::function<float(std::vector<float>)>& sum) {
  return reveal_sum_tree({n, 0x1p60, 1, [&](const std::vector<double>& rows) {
                            std::vector<double> out;
                            for (auto at = rows.begin(); at != rows.end(); at += n) {
                              out.push_back(
                                  static_cast<double>(sum(std::vector<float>(at, at + n))));
                            }
                            return out;
                          }});
}

std::string line_of(std::int64_t n, const std::function<float(std::vector<float>)>& sum) {
  return sum_tree_line(reveal(n, sum));
}

TEST(SumTreeTest, ByHand) {
  EXPECT_EQ(line_of(1, [](auto x) { return x[0]; }), "0");
  EXPECT_EQ(line_of(2, [](auto x) { return x[0] + x[1]; }), "(0 + 1)");
  EXPECT_EQ(line_of(4, [](auto x) { return ((x[0] + x[1]) + x[2]) + x[3]; }),
            "(((0 + 1) + 2) + 3)");
  EXPECT_EQ(line_of(4, [](auto x) { return (x[0] + x[1]) + (x[2] + x[3]); }),
            "((0 + 1) + (2 + 3))");
  EXPECT_EQ(line_of(4, [](auto x) { return (x[0] + x[2]) + (x[1] + x[3]); }),
            "((0 + 2) + (1 + 3))");
  EXPECT_EQ(line_of(5, [](auto x) { return x[4] + (x[3] + (x[2] + (x[1] + x[0]))); }),
            "((((0 + 1) + 2) + 3) + 4)");
  EXPECT_EQ(line_of(5, [](auto x) { return (((x[4] + x[3]) + x[2]) + x[1]) + x[0]; }),
            "(0 + (1 + (2 + (3 + 4))))");
  EXPECT_EQ(line_of(6, [](auto x) { return (x[0] + x[5]) + ((x[1] + x[4]) + (x[2] + x[3])); }),
            "((0 + 5) + ((1 + 4) + (2 + 3)))");
}

// Tests each model of a chunk, summed by the scalar oracle itself.
TEST(SumTreeTest, NodesOfSeveralTerms) {
  const auto line = [](const char* machine, const char* dtype, int chunk, std::int64_t n) {
    DotModel model = dot_model(machine_named(machine), format_named(dtype));
    model.chunk.value = chunk;
    const std::vector<double> ones(static_cast<std::size_t>(n), 1.0);
    return sum_tree_line(reveal_sum_tree(
        {n, 0x1p60, 1, [&](const std::vector<double>& rows) {
           std::vector<double> out;
           for (std::size_t at = 0; at < rows.size(); at += static_cast<std::size_t>(n)) {
             out.push_back(dot_oracle(model, n, rows.data() + at, 1, ones.data(), 1, 0));
           }
           return out;
         }}));
  };
  EXPECT_EQ(line("hopper", "bfloat16", 4, 10), "[[[0 1 2 3] 4 5 6 7] 8 9]");
  EXPECT_EQ(line("ascend910b", "bfloat16", 4, 10), "{{{0 1 2 3} 4 5 6 7} 8 9}");
  EXPECT_EQ(line("cpu_fma", "float32", 1, 4), "(((0 + 1) + 2) + 3)");
}

TEST(SumTreeTest, RowsSayWhatToExpect) {
  DotModel model = dot_model(machine_named("hopper"), format_named("float8_e4m3fn"));
  model.chunk.value = 2;
  EXPECT_EQ(sum_tree_line(expected_tree(model, 5)), "([(0 + 1) 2 3] + 4)");
  model.promotion_interval.value = 2;
  EXPECT_EQ(sum_tree_line(expected_tree(model, 5)), "(((0 + 1) + (2 + 3)) + 4)");
  model = dot_model(machine_named("ascend910b"), format_named("float16"));
  model.chunk.value = 4;
  model.order.value = ChunkOrder::kPairwise;
  EXPECT_EQ(sum_tree_line(expected_tree(model, 6)), "(((0 + 1) + (2 + 3)) + (4 + 5))");
  EXPECT_EQ(sum_tree_line(expected_tree(ReduceOrder::kSequential, 1, 4)), "(((0 + 1) + 2) + 3)");
  EXPECT_EQ(sum_tree_line(expected_tree(ReduceOrder::kPairwise, 1, 5)),
            "(((0 + 1) + (2 + 3)) + 4)");
  EXPECT_EQ(sum_tree_line(expected_tree(ReduceOrder::kBlock, 2, 6)),
            "(((0 + 1) + (2 + 3)) + (4 + 5))");
  EXPECT_EQ(sum_tree_line(expected_tree(ReduceOrder::kHighDim, 2, 8)),
            "(((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7)))");
  EXPECT_EQ(sum_tree_line(expected_tree(ReduceOrder::kFirstN, 2, 8)),
            "((((0 + 1) + (2 + 3)) + (4 + 5)) + (6 + 7))");
}

// Returns a random tree of additions, which must be found again.
SumTree drawn(Random& random, std::vector<std::int64_t> terms) {
  if (terms.size() == 1) return {SumNode::kTerm, terms[0], {}};
  std::vector<std::int64_t> sides[2] = {{terms[0]}, {}};
  for (std::size_t i = 1; i < terms.size(); ++i) sides[random.below(2)].push_back(terms[i]);
  if (sides[1].empty()) {
    sides[1].push_back(sides[0].back());
    sides[0].pop_back();
  }
  return {SumNode::kAdd, 0, {drawn(random, sides[0]), drawn(random, sides[1])}};
}

float evaluate(const SumTree& t, const std::vector<float>& x) {
  if (t.kind == SumNode::kTerm) return x[static_cast<std::size_t>(t.term)];
  return evaluate(t.children[0], x) + evaluate(t.children[1], x);
}

TEST(SumTreeTest, AnyTreeIsFound) {
  Random random(3, 14);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<std::int64_t> terms(1 + random.below(40));
    for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = static_cast<std::int64_t>(i);
    const SumTree tree = drawn(random, terms);
    const auto n = static_cast<std::int64_t>(terms.size());
    EXPECT_EQ(sum_tree_line(reveal(n, [&](auto x) { return evaluate(tree, x); })),
              sum_tree_line(tree));
  }
}

// OpenBLAS's dot product, which is not our code. The tree adds random numbers to the same bits if
// OpenBLAS adds only in float32. It adds what is left over of its blocks of 32 in float64.
TEST(SumTreeTest, OpenBlas) {
  Random random(3, 15);
  for (const std::int64_t n : {1, 3, 8, 31, 64, 100, 256, 300}) {
    const std::vector<float> ones(static_cast<std::size_t>(n), 1.0F);
    const auto sdot = [&](const std::vector<float>& x) {
      return cblas_sdot(static_cast<int>(n), x.data(), 1, ones.data(), 1);
    };
    const SumTree tree = reveal(n, sdot);
    EXPECT_EQ(tree.terms(), n);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<float> x;
      for (std::int64_t i = 0; i < n; ++i) x.push_back(static_cast<float>(random.normal()));
      if (n == 64 || n == 256) {
        EXPECT_EQ(evaluate(tree, x), sdot(x)) << n;
      } else {
        EXPECT_NEAR(evaluate(tree, x), sdot(x), 1e-5) << n;
      }
    }
  }
}

TEST(SumTreeTest, WhatNoTreeExplains) {
  const auto error = [](std::int64_t n, const std::function<float(std::vector<float>)>& sum) {
    try {
      reveal(n, sum);
    } catch (const std::exception& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error(4, [](auto x) { return x[0] + 0.5F; }),
            "no summation tree explains the probe of terms 0 and 1: it kept 1.152921504606847e+18 "
            "of 2 units");
  // This sum leaves out term 0, so that no tree explains it.
  EXPECT_THAT(error(4, [](auto x) { return x[1] + x[2] + x[3]; }),
              HasSubstr("no summation tree explains the probe of terms 0 and "));
  // The order of this sum depends on the values.
  EXPECT_THAT(error(4,
                    [](auto x) {
                      return std::abs(x[1]) > 1 ? ((x[3] + x[2]) + x[1]) + x[0]
                                                : ((x[0] + x[1]) + x[2]) + x[3];
                    }),
              HasSubstr("units, not "));
  EXPECT_EQ(error(0, [](auto) { return 0.0F; }),
            "a summation tree is probed for 1 to 512 terms, not 0");
  EXPECT_EQ(error(513, [](auto) { return 0.0F; }),
            "a summation tree is probed for 1 to 512 terms, not 513");
  EXPECT_THROW(reveal_sum_tree({2, 1e9, 1, [](const auto&) { return std::vector<double>(); }}),
               std::invalid_argument);
}

TEST(SumTreeTest, Drawings) {
  const auto drawing = [](const char* machine, const char* dtype, std::int64_t n) {
    return sum_tree_drawing(
        expected_tree(dot_model(machine_named(machine), format_named(dtype)), n));
  };
  EXPECT_EQ(sum_tree_drawing(expected_tree(ReduceOrder::kPairwise, 1, 100)),
            "tree of adjacent pairs: terms 0 to 99\n");
  EXPECT_EQ(sum_tree_drawing(expected_tree(ReduceOrder::kBlock, 4, 16)),
            "chain of 3, each the add of what came before and 1 more: terms 0 to 15\n"
            "  the last:\n"
            "    tree of adjacent pairs: terms 12 to 15\n"
            "  from:\n"
            "    tree of adjacent pairs: terms 0 to 3\n");
  EXPECT_EQ(drawing("cpu_fma", "float32", 64),
            "chain of 63, each the add of what came before and 1 more: terms 0 to 63\n"
            "  from:\n"
            "    term 0\n");
  EXPECT_EQ(drawing("ascend910b", "float32", 10),
            "exact sum of 3: terms 0 to 9\n"
            "  exact sum of 5: terms 0 to 7\n"
            "    exact sum of 4: terms 0 to 3\n"
            "    terms 4 to 7\n"
            "  terms 8 to 9\n");
}

}  // namespace
}  // namespace assay::study
