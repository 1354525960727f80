// Tests unusual ways in which matmul goes through K and rounds its result.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/format/rounding.h"
#include "assay/machine/dot.h"
#include "cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::matmul;
using cases::random_tensor;

double value_at(const Tensor& t, std::int64_t i) { return decode(t.format(), t.bits_at(i)); }

// Tests uneven parts, pieces that are dealt to parts in turn, and orders and formats of the parts'
// sums, each against the scalar oracle.
TEST(KSplitTest, PartsOfKInOtherOrders) {
  const std::int64_t k = 100;
  const DotModel& model = dot_model(machine_named("hopper"), format_named("bfloat16"));
  Case c = matmul(random_tensor("bfloat16", {3, k}, 45), random_tensor("bfloat16", {k, 5}, 46));
  c.attributes["output_dtype"] = "float32";
  c.attributes["split_k"] = std::int64_t{16};
  const auto a = c.input("a").view().values(), b = c.input("b").view().values();
  // Returns the sum of the products of an element in some stretches [first, last) of K, in one
  // accumulator.
  using Stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;
  const auto sum_of = [&](std::int64_t i, std::int64_t j, const Stretches& stretches) {
    std::vector<double> x, y;
    for (const auto& [first, last] : stretches) {
      for (std::int64_t kk = first; kk < std::min(k, last); ++kk) {
        x.push_back(a[static_cast<std::size_t>(i * k + kk)]);
        y.push_back(b[static_cast<std::size_t>(kk * 5 + j)]);
      }
    }
    return static_cast<float>(
        dot_oracle(model, static_cast<std::int64_t>(x.size()), x.data(), 1, y.data(), 1, 0));
  };
  const auto expect = [&](std::map<std::string, Attribute> parameters, const auto& wanted) {
    Case asked = c;
    for (auto& [name, value] : parameters) asked.attributes[name] = value;
    const Tensor out = emulate(asked, machine_named("hopper"));
    for (std::int64_t i = 0; i < 3; ++i) {
      for (std::int64_t j = 0; j < 5; ++j) {
        ASSERT_EQ(value_at(out, i * 5 + j), static_cast<double>(wanted(i, j)))
            << parameters.begin()->first;
      }
    }
    EXPECT_EQ(golden_result(asked).view().values(), golden_result(c).view().values());
  };
  expect({{"split_first", std::int64_t{5}}, {"split_k", std::int64_t{60}}},
         [&](std::int64_t i, std::int64_t j) {
           return sum_of(i, j, {{0, 5}}) + sum_of(i, j, {{5, 65}}) + sum_of(i, j, {{65, 100}});
         });
  expect({{"split_parts", std::int64_t{3}}}, [&](std::int64_t i, std::int64_t j) {
    return sum_of(i, j, {{0, 16}, {48, 64}, {96, 112}}) + sum_of(i, j, {{16, 32}, {64, 80}}) +
           sum_of(i, j, {{32, 48}, {80, 96}});
  });
  const auto piece = [&](std::int64_t i, std::int64_t j, std::int64_t number) {
    return sum_of(i, j, {{number * 16, number * 16 + 16}});
  };
  expect({{"split_order", std::string("descending")}}, [&](std::int64_t i, std::int64_t j) {
    float total = 0;
    for (std::int64_t p = 6; p >= 0; --p) total += piece(i, j, p);
    return total;
  });
  expect({{"split_order", std::string("pairwise")}}, [&](std::int64_t i, std::int64_t j) {
    return ((piece(i, j, 0) + piece(i, j, 1)) + (piece(i, j, 2) + piece(i, j, 3))) +
           ((piece(i, j, 4) + piece(i, j, 5)) + piece(i, j, 6));
  });
  const auto half = [](float v) {
    return static_cast<float>(round_to(format_named("float16"), static_cast<double>(v)));
  };
  expect({{"split_dtype", std::string("float16")}}, [&](std::int64_t i, std::int64_t j) {
    float total = 0;
    for (std::int64_t p = 0; p < 7; ++p) total += half(piece(i, j, p));
    return total;
  });
  expect({{"split_sum_dtype", std::string("float16")}}, [&](std::int64_t i, std::int64_t j) {
    float total = 0;
    for (std::int64_t p = 0; p < 7; ++p) total = half(total + piece(i, j, p));
    return total;
  });
}

// Each float32 operand is split into two terms. Their three products are added in one accumulator,
// between two promotions.
TEST(KSplitTest, OperandsInTwoTerms) {
  Case c = matmul(random_tensor("float32", {4, 40}, 47), random_tensor("float32", {40, 3}, 48));
  c.attributes["compute_dtype"] = "bfloat16";
  const Tensor rough = emulate(c, machine_named("hopper"));
  c.attributes["compute_terms"] = std::int64_t{2};
  c.attributes["promotion_interval"] = std::int64_t{16};
  const Tensor out = emulate(c, machine_named("hopper"));
  const auto a = c.input("a").view().values(), b = c.input("b").view().values();
  const Format& narrow = format_named("bfloat16");
  const auto first = [&](double v) { return round_to(narrow, v); };
  const auto rest = [&](double v) { return round_to(narrow, v - round_to(narrow, v)); };
  const DotModel& model = dot_model(machine_named("hopper"), narrow);
  double error = 0, rough_error = 0;
  for (std::int64_t i = 0; i < 4; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      float total = 0;
      double exact = 0;
      for (std::int64_t begin = 0; begin < 40; begin += 16) {
        std::vector<double> x, y;
        for (int pass = 0; pass < 3; ++pass) {
          for (std::int64_t kk = begin; kk < std::min<std::int64_t>(40, begin + 16); ++kk) {
            const double u = a[static_cast<std::size_t>(i * 40 + kk)],
                         v = b[static_cast<std::size_t>(kk * 3 + j)];
            x.push_back(pass == 0 ? rest(u) : first(u));
            y.push_back(pass == 1 ? rest(v) : first(v));
            if (pass == 0) exact += u * v;
          }
        }
        total += static_cast<float>(
            dot_oracle(model, static_cast<std::int64_t>(x.size()), x.data(), 1, y.data(), 1, 0));
      }
      EXPECT_EQ(value_at(out, i * 3 + j), static_cast<double>(total));
      error = std::max(error, std::abs(value_at(out, i * 3 + j) - exact));
      rough_error = std::max(rough_error, std::abs(value_at(rough, i * 3 + j) - exact));
    }
  }
  EXPECT_LT(error, rough_error / 50);
  // The golden result is that of the operands before they are split.
  EXPECT_EQ(golden_result(c).view().values(),
            golden_result(matmul(c.input("a"), c.input("b"))).view().values());
}

TEST(KSplitTest, RoundingsOfTheResult) {
  Case c = matmul(random_tensor("bfloat16", {9, 33}, 49), random_tensor("bfloat16", {33, 8}, 50));
  c.inputs["bias"] = random_tensor("bfloat16", {8}, 51);
  const auto bias = c.input("bias").view().values();
  Case wide = c;
  wide.attributes["output_dtype"] = "float32";
  wide.inputs.erase("bias");
  const auto sums = emulate(wide, machine_named("hopper")).view().values();
  const Format& narrow = format_named("bfloat16");
  for (const RoundingRow& row : deterministic_rounding_rows()) {
    c.attributes["output_rounding"] = std::string(rounding_name(row.rounding));
    for (const bool before : {false, true}) {
      c.attributes["round_before_bias"] = std::int64_t{before ? 1 : 0};
      const Tensor out = emulate(c, machine_named("hopper"));
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double sum = before ? round_to(narrow, sums[i], row.rounding) : sums[i];
        const double added = static_cast<double>(static_cast<float>(sum) +
                                                 static_cast<float>(bias[i % bias.size()]));
        ASSERT_EQ(value_at(out, static_cast<std::int64_t>(i)),
                  round_to(narrow, added, row.rounding))
            << rounding_name(row.rounding) << before;
      }
    }
  }
}

TEST(KSplitTest, WhatDoesNotGoTogetherIsRefused) {
  const Case c = matmul(random_tensor("float32", {2, 3}, 1), random_tensor("float32", {3, 2}, 2));
  const auto error = [&](const std::map<std::string, Attribute>& parameters) {
    Case asked = c;
    for (const auto& [name, value] : parameters) asked.attributes[name] = value;
    return error_of([&] { emulate(asked, machine_named("cpu_fma")); });
  };
  const std::int64_t one = 1, two = 2;
  EXPECT_EQ(error({{"split_first", one}}),
            "case t: the case says how K is split, but not into which parts; give split_k, or "
            "leave out the other parameters of the split");
  EXPECT_EQ(error({{"split_k", two}, {"split_first", one}, {"split_parts", two}}),
            "case t: split_first and split_parts cannot be used together; leave one of them out");
  EXPECT_EQ(
      error({{"split_k", two}, {"split_dtype", std::string("float64")}}),
      "case t: split_dtype is 'float64'; sums of parts of K are float32, float16 or bfloat16");
  EXPECT_EQ(error({{"compute_terms", two}}),
            "case t: compute_terms is given without compute_dtype; give the dtype of the terms "
            "into which float32 operands are taken apart, or leave compute_terms out");
  EXPECT_EQ(error({{"output_rounding", std::string("stochastic")}}),
            "case t: output_rounding is 'stochastic'; it may be nearest_even, nearest_away, "
            "toward_zero, up, down, to_odd");
}

}  // namespace
}  // namespace assay
