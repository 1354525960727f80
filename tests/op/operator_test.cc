// Tests the table of operators, and the tolerance that is derived from a case's data.
#include "assay/op/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/op/generate.h"
#include "cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::integer_tensor;
using cases::matmul;
using cases::random_tensor;

TEST(OperatorsTest, RowsAreComplete) {
  std::set<std::string> names;
  for (const Operator& op : operators()) {
    EXPECT_TRUE(names.emplace(op.name).second) << op.name;
    EXPECT_EQ(find_operator(op.name), &op);
    EXPECT_FALSE(op.inputs.empty());
    EXPECT_NE(op.run, nullptr);
  }
  EXPECT_EQ(names.count("matmul"), 1u);
  EXPECT_EQ(find_operator("attention")->inputs.front().name, "q");
  EXPECT_EQ(find_operator("matmult"), nullptr);
  EXPECT_EQ(find_operator(""), nullptr);
}

TEST(OperatorsTest, AnUnknownOperatorIsNamed) {
  Case c = matmul(integer_tensor("float16", {2, 3}, 1), integer_tensor("float16", {3, 2}, 2));
  c.op = "no_operator";
  std::string text =
      "case t: assay does not emulate the operator 'no_operator'; it emulates matmul";
  for (std::size_t i = 1; i < operators().size(); ++i) {
    text += ", " + std::string(operators()[i].name);
  }
  EXPECT_EQ(error_of([&] { emulate(c, machine_named("exact")); }), text);
  EXPECT_EQ(error_of([&] { golden_result(c); }), text);
}

// Every operator runs on every machine, in a dtype that all of them take.
TEST(OperatorsTest, RunOnEveryMachine) {
  for (const Operator& op : operators()) {
    for (const Machine& machine : machines()) {
      const Case c = generate_case(op.name, cases::small_recipe(op.name));
      EXPECT_GT(emulate(c, machine).size(), 0) << op.name << " " << machine.name;
    }
  }
}

// The number of assay's own operators, before any test of this program registers others. Those may
// keep the sign of their NaN.
const std::size_t kOwnOperators = operators().size();

// Processors disagree about the sign of infinity minus infinity, but results must not.
TEST(OperatorsTest, NansArePositiveButOfConversions) {
  std::set<std::string> made;
  const auto look = [&](const Operator& op, const Tensor& result, std::string_view machine) {
    const Format& f = result.format();
    for (std::int64_t i = 0; i < result.size(); ++i) {
      const std::uint64_t code = result.bits_at(i);
      if (!f.is_float() || f.is_complex() || !is_nan(f, code)) continue;
      made.insert(op.name);
      if (!op.keeps_nan_signs) {
        ASSERT_FALSE(std::signbit(decode(f, code))) << op.name << " " << machine << " " << i;
      }
    }
  };
  for (std::size_t row = 0; row < kOwnOperators; ++row) {
    const Operator& op = operators()[row];
    Case c = generate_case(op.name, cases::small_recipe(op.name));
    Tensor& first = c.inputs.at(op.inputs.front().name);
    if (!first.format().has_infinity()) continue;
    for (std::int64_t i = 0; i < first.size(); i += 3) {
      const double value = i % 4 == 0   ? kInfinity
                           : i % 4 == 1 ? -kInfinity
                                        : -std::numeric_limits<double>::quiet_NaN();
      first.set_bits(i, encode(first.format(), value));
    }
    look(op, golden_result(c), "golden");
    for (const Machine& machine : machines()) look(op, emulate(c, machine), machine.name);
  }
  for (const char* name : {"matmul", "dot", "reduce_sum", "softmax", "attention", "cast"}) {
    EXPECT_EQ(made.count(name), 1u) << name;
  }
}

TEST(OperatorsTest, HintsAreNoParameters) {
  Case c = matmul(integer_tensor("float16", {2, 3}, 1), integer_tensor("float16", {3, 2}, 2));
  const auto plain = emulate(c, machine_named("ascend910b")).view().values();
  for (const char* hint : {"standard", "tags", "source", "machine", "why", "description"}) {
    c.attributes[hint] = "words";
  }
  for (const char* hint : {"rtol", "atol", "equal_nan", "seed"})
    c.attributes[hint] = std::int64_t{1};
  EXPECT_EQ(emulate(c, machine_named("ascend910b")).view().values(), plain);
  c.attributes["axis"] = std::int64_t{1};
  EXPECT_EQ(error_of([&] { golden_result(c); }),
            "case t: matmul does not know the parameter 'axis'; it knows transpose_a, transpose_b, "
            "output_dtype, compute_dtype, compute_rounding, promotion_interval, split_k, "
            "split_first, split_parts, split_order, split_dtype, split_sum_dtype, compute_terms, "
            "round_before_bias, output_rounding");
}

TEST(GoldenTest, IsFloat64WhateverTheOutput) {
  for (const char* output : {"float16", "float32", "float8_e4m3fn"}) {
    Case c = matmul(random_tensor("float16", {3, 50}, 3), random_tensor("float16", {50, 4}, 4));
    c.attributes["output_dtype"] = output;
    EXPECT_EQ(golden_result(c).format().name, "float64");
  }
}

TEST(DerivedToleranceTest, FollowsItsFormula) {
  Case c = matmul(
      Tensor::from_values(format_named("float16"), {2, 3}, std::vector<double>{1, -2, 3, 4, 5, -6}),
      Tensor::from_values(format_named("float16"), {3, 1}, std::vector<double>{-1, 1, 2}));
  const DerivedTolerance t = derived_tolerance(c);
  EXPECT_EQ(t.rtol, 0x1p-11);
  // |4||-1| + |5||1| + |-6||2|, rounded to float16
  EXPECT_EQ(t.atol, (1 + 0x1p-11) * 3 * 0x1p-24 * 21 + 0x1p-25);
  EXPECT_EQ(t.why,
            "rtol: half a float16 ulp; atol: K 2^-24 max sum_k |a_ik b_kj|, the error of float32 "
            "accumulation in any order (K = 3, sum at most 21)");
  c.attributes["output_dtype"] = "float32";
  EXPECT_EQ(derived_tolerance(c).rtol, 0x1p-24);
}

TEST(DerivedToleranceTest, LooksAtEveryBatch) {
  Case c = matmul(integer_tensor("float32", {4, 2, 6}, 5), integer_tensor("float32", {6, 3}, 6));
  auto values = c.input("a").view().values();
  values.back() = 1000;
  c.inputs["a"] = Tensor::from_values(format_named("float32"), {4, 2, 6}, values);
  const auto b = c.input("b").view().values();
  double largest = 0;
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t j = 0; j < 3; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < 6; ++k) sum += std::abs(values[row * 6 + k] * b[k * 3 + j]);
      largest = std::max(largest, sum);
    }
  }
  EXPECT_EQ(derived_tolerance(c).atol, (1 + 0x1p-24) * 6 * 0x1p-24 * largest + 0x1p-150);
}

TEST(DerivedToleranceTest, IntegersAreExactAndOthersHaveNoRule) {
  Case c = matmul(integer_tensor("int8", {2, 3}, 1), integer_tensor("int8", {3, 2}, 2));
  const DerivedTolerance exact = derived_tolerance(c);
  EXPECT_EQ(exact.rtol, 0);
  EXPECT_EQ(exact.atol, 0);
  EXPECT_EQ(exact.why, "integers are multiplied and summed exactly");
  c = matmul(integer_tensor("float16", {2, 3}, 1), integer_tensor("float16", {3, 2}, 2));
  c.op = "conv2d";
  EXPECT_EQ(error_of([&] { derived_tolerance(c); }),
            "case t: no tolerance can be derived for conv2d with float16 results");
}

// The judge decides on elements that a NaN or infinity reaches, so they have no part in the
// tolerance.
TEST(DerivedToleranceTest, LeavesOutWhatIsNotFinite) {
  const auto tolerance = [](double second) {
    return derived_tolerance(matmul(
        Tensor::from_values(format_named("float16"), {3, 1}, std::vector<double>{1, second, 2}),
        integer_tensor("float16", {1, 4}, 2)));
  };
  for (const double special : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(tolerance(special).atol, tolerance(0).atol);
  }
}

// Expects that a machine that computes correctly is never out of tolerance.
void expect_within(const Case& c, const char* what) {
  const DerivedTolerance t = derived_tolerance(c);
  const auto out = emulate(c, machine_named("ascend910b")).view().values();
  const auto golden = golden_result(c).view().values();
  int mismatches = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    mismatches += std::abs(out[i] - golden[i]) <= t.atol + t.rtol * std::abs(golden[i]) ? 0 : 1;
  }
  EXPECT_EQ(mismatches, 0) << what << " of " << out.size();
}

TEST(DerivedToleranceTest, AcceptsTheMachines) {
  for (const char* input : {"float16", "bfloat16", "float32"}) {
    for (const std::int64_t k : {1, 16, 300, 1000}) {
      expect_within(matmul(random_tensor(input, {12, k}, 7), random_tensor(input, {k, 20}, 8)),
                    input);
    }
  }
}

// The accumulator starts from the bias, so its size counts among the terms.
TEST(DerivedToleranceTest, AcceptsTheMachinesWithALargeBias) {
  Case c = matmul(random_tensor("float32", {12, 1000}, 9, 1e-3),
                  random_tensor("float32", {1000, 20}, 10));
  c.inputs["bias"] = random_tensor("float32", {20}, 11, 1000);
  expect_within(c, "bias");
}

// Accumulators of 14 bits are not float32. The case names the machine that has them.
TEST(DerivedToleranceTest, OfANamedMachine) {
  Case c = matmul(random_tensor("float8_e4m3fn", {12, 1000}, 14),
                  random_tensor("float8_e4m3fn", {1000, 20}, 15));
  c.attributes["output_dtype"] = std::string("float32");
  const auto out = emulate(c, machine_named("hopper")).view().values(),
             golden = golden_result(c).view().values();
  const auto mismatches = [&] {
    const DerivedTolerance t = derived_tolerance(c);
    int count = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      count += std::abs(out[i] - golden[i]) <= t.atol + t.rtol * std::abs(golden[i]) ? 0 : 1;
    }
    return count;
  };
  EXPECT_EQ(error_of([&] { derived_tolerance(c); }),
            "case t: no tolerance can be derived: matrix units sum products of float8_e4m3fn with "
            "as few as 14 bits; name the machine that computed them, as in "
            "machine=hopper");
  c.attributes["machine"] = std::string("hopper");
  EXPECT_EQ(mismatches(), 0);
  EXPECT_THAT(derived_tolerance(c).why,
              testing::HasSubstr("atol: the largest bound of accumulation on hopper"));
}

TEST(DerivedToleranceTest, RejectsASkippedProduct) {
  const Case c =
      matmul(random_tensor("float32", {12, 300}, 12), random_tensor("float32", {300, 20}, 13));
  const DerivedTolerance t = derived_tolerance(c);
  const auto a = c.input("a").view().values(), b = c.input("b").view().values();
  const auto golden = golden_result(c).view().values();
  int caught = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      const double skipped = a[i * 300 + 17] * b[17 * 20 + j];
      caught += std::abs(skipped) > t.atol + t.rtol * std::abs(golden[i * 20 + j]) ? 1 : 0;
    }
  }
  EXPECT_GT(caught, 230);
}

}  // namespace
}  // namespace assay
