// Right products without a machine: float32 sums in orders that no machine's model has. The
// operands are hard for the theory of expected_error.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "right_results.h"

namespace assay {
namespace {

struct Product {
  std::int64_t m, n, k;
  std::vector<double> a, b;
};

Case case_of(const Product& p, const Format& f, const char* output) {
  Case c;
  c.name = "product";
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string(output);
  c.inputs["a"] = Tensor::from_values(f, {p.m, p.k}, p.a);
  c.inputs["b"] = Tensor::from_values(f, {p.k, p.n}, p.b);
  c.output().golden = golden_result(c);
  return c;
}

// Returns the product in float32. Each term is rounded separately, or blocks of 8 terms use fused
// multiply-add if `order` is "fused blocks".
Tensor product_in(const Product& p, const std::string& order, const char* output) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      std::vector<float> terms;
      float block = 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const auto x = static_cast<float>(p.a[static_cast<std::size_t>(i * p.k + k)]),
                   y = static_cast<float>(p.b[static_cast<std::size_t>(k * p.n + j)]);
        if (order == "fused blocks") {
          block = std::fma(x, y, block);
          if (k % 8 == 7 || k + 1 == p.k) terms.push_back(std::exchange(block, 0.0f));
        } else {
          terms.push_back(x * y);
        }
      }
      const float sum = right::sum_in(order, terms, static_cast<std::uint64_t>(i * p.n + j));
      result.push_back(round_to(format_named(output), static_cast<double>(sum)));
    }
  }
  return Tensor::from_values(format_named(output), {p.m, p.n}, result);
}

right::Outcomes right_products(const char* dtype, const char* output, std::uint64_t seed) {
  right::Outcomes outcomes;
  const Format& f = format_named(dtype);
  std::vector<std::string> orders(std::begin(right::kOrders), std::end(right::kOrders));
  orders.push_back("fused blocks");
  Random random(seed, 0);
  for (std::uint64_t round = 0; round < right::times(); ++round) {
    for (const std::string& kind : right::kinds()) {
      for (const std::int64_t k : {1, 2, 3, 4, 7, 16, 33, 100, 300}) {
        Product p{3, 5, k, {}, {}};
        p.a = right::hard_values(kind, p.m * k, f, random);
        const std::vector<double> columns = right::hard_values(
            round % 2 == 0 && kind != "subnormal" ? kind : "normal", p.n * k, f, random);
        p.b.resize(columns.size());
        for (std::int64_t j = 0; j < p.n; ++j) {
          for (std::int64_t kk = 0; kk < k; ++kk) {
            p.b[static_cast<std::size_t>(kk * p.n + j)] =
                columns[static_cast<std::size_t>(j * k + kk)];
          }
        }
        const Case c = case_of(p, f, output);
        // If all results are 0, any standard calls them untrusted.
        const std::vector<double> golden = c.output().golden->view().values();
        if (std::all_of(golden.begin(), golden.end(), [](double v) { return v == 0; })) continue;
        for (const std::string& order : orders) {
          outcomes.judge(c, product_in(p, order, output),
                         kind + ", K = " + std::to_string(k) + ", " + order);
        }
      }
    }
  }
  outcomes.print(std::string("products of ") + dtype + " to " + output);
  return outcomes;
}

struct Formats {
  const char *dtype, *output;
};
class RightProducts : public testing::TestWithParam<Formats> {};

TEST_P(RightProducts, PassInAnyOrder) {
  const right::Outcomes outcomes = right_products(GetParam().dtype, GetParam().output, 1);
  EXPECT_EQ(outcomes.failed + outcomes.untrusted, 0) << outcomes.first;
  EXPECT_EQ(outcomes.failed_by_default, 0) << outcomes.first_by_default;
}

INSTANTIATE_TEST_SUITE_P(
    Formats, RightProducts,
    testing::Values(Formats{"float16", "float32"}, Formats{"bfloat16", "float32"},
                    Formats{"float8_e4m3fn", "float32"}, Formats{"float32", "float32"},
                    Formats{"float16", "float16"}, Formats{"bfloat16", "bfloat16"}),
    [](const auto& test) { return std::string(test.param.dtype) + "_to_" + test.param.output; });

// -- The examples that were found, and what must still fail --

// float32 can represent the exact sum, and all partial sums in ascending order. In the
// reversed order a partial sum must be rounded, so the result is off by one ulp. It is still right.
TEST(AnyOrder, KnowsThatPartialSumsOfAnotherOrderAreRounded) {
  const Product p{1,
                  1,
                  3,
                  {0.77099609375, -0.0579833984375, 1.07421875},
                  {-1.00390625, -0.77978515625, 1.2685546875}};
  const Case c = case_of(p, format_named("float16"), "float32");
  const Tensor output = product_in(p, "reversed", "float32");
  ASSERT_EQ(output.view().value_at(0), 0.6339120864868164);
  ASSERT_EQ(c.output().golden->view().value_at(0), 0.6339120268821716);
  right::Outcomes outcomes;
  outcomes.judge(c, output, "descending");
  EXPECT_EQ(outcomes.failed + outcomes.untrusted + outcomes.fell_back, 0) << outcomes.first;
}

// If no order rounds the sums, they are exact, and a single wrong bit fails.
TEST(AnyOrder, KnowsThatSumsOfFewBitsAreExact) {
  Random random(7, 0);
  const Format& f = format_named("float16");
  const Product p{3, 5, 64, right::hard_values("integers", 3 * 64, f, random),
                  right::hard_values("integers", 5 * 64, f, random)};
  const Case c = case_of(p, f, "float32");
  std::vector<double> values = product_in(p, "permuted", "float32").view().values();
  EXPECT_EQ(values, c.output().golden->view().values());
  values[7] = std::nextafter(static_cast<float>(values[7]), 1e9f);
  right::Outcomes outcomes;
  outcomes.judge(c, Tensor::from_values(format_named("float32"), {3, 5}, values), "one bit");
  EXPECT_EQ(outcomes.failed, 1);
}

Product drawn(std::int64_t k, const char* kind, const Format& f, std::uint64_t seed) {
  Random random(seed, 0);
  return {16, 16, k, right::hard_values(kind, 16 * k, f, random),
          right::hard_values("normal", 16 * k, f, random)};
}

Product rounded(Product p, const char* narrow) {
  for (auto* values : {&p.a, &p.b}) {
    for (double& v : *values) v = round_to(format_named(narrow), v);
  }
  return p;
}

TEST(AnyOrder, TellsWrongArithmetic) {
  for (const char* kind : {"normal", "mean 1", "lognormal"}) {
    for (const std::int64_t k : {16, 128, 1024}) {
      SCOPED_TRACE(std::string(kind) + ", K = " + std::to_string(k));
      right::Outcomes outcomes;
      const Product wide = drawn(k, kind, format_named("float32"), 11);
      const Case of_wide = case_of(wide, format_named("float32"), "float32");
      outcomes.judge(of_wide, product_in(rounded(wide, "tfloat32"), "ascending", "float32"),
                     "tfloat32 inputs");
      // Truncated outputs of 16 bits fail, because the right rounding of each element is nearly
      // certain.
      std::vector<double> cut = of_wide.output().golden->view().values();
      const Case of_half = case_of(wide, format_named("float32"), "bfloat16");
      for (double& v : cut)
        v = static_cast<double>(std::bit_cast<float>(
            std::bit_cast<std::uint32_t>(static_cast<float>(v)) & 0xffff0000u));
      outcomes.judge(of_half, Tensor::from_values(format_named("bfloat16"), {16, 16}, cut),
                     "truncated outputs");
      // The last product of each sum is missing.
      Product tail = wide;
      for (std::int64_t i = 0; i < 16; ++i) tail.a[static_cast<std::size_t>((i + 1) * k - 1)] = 0;
      outcomes.judge(of_wide, product_in(tail, "pairwise", "float32"), "a missing tail");
      // Every partial sum is rounded to float16.
      const Product narrow = drawn(k, kind, format_named("float16"), 12);
      std::vector<double> sums;
      for (std::int64_t i = 0; i < 16; ++i) {
        for (std::int64_t j = 0; j < 16; ++j) {
          double sum = 0;
          for (std::int64_t kk = 0; kk < k; ++kk) {
            sum = round_to(format_named("float16"),
                           sum + narrow.a[static_cast<std::size_t>(i * k + kk)] *
                                     narrow.b[static_cast<std::size_t>(kk * 16 + j)]);
          }
          sums.push_back(sum);
        }
      }
      for (const char* output : {"float32", "float16"}) {
        outcomes.judge(case_of(narrow, format_named("float16"), output),
                       Tensor::from_values(format_named(output), {16, 16}, sums),
                       "a float16 accumulator");
      }
      EXPECT_EQ(outcomes.failed, 5);
      EXPECT_EQ(outcomes.fell_back, 0);
    }
  }
}

// Tensor cores truncate sums towards zero. If the case names no machine, their results are right as
// well.
TEST(AnyOrder, HoldsForTensorCores) {
  for (const char* machine : {"hopper", "ampere", "volta"}) {
    for (const char* kind : {"normal", "near 1", "lognormal"}) {
      for (const std::int64_t k : {16, 300, 4096}) {
        const Case c = case_of(drawn(k, kind, format_named("float16"), 14), format_named("float16"),
                               "float32");
        right::Outcomes outcomes;
        outcomes.judge(c, emulate(c, machine_named(machine)), std::string(machine) + ", " + kind);
        EXPECT_EQ(outcomes.failed + outcomes.untrusted + outcomes.fell_back, 0) << outcomes.first;
      }
    }
  }
}

// The elements that NaN and infinity in an operand do not reach keep the bounds of the theory.
TEST(AnyOrder, KeepsTheElementsThatNaNDoesNotReach) {
  for (const char* machine : {"", "hopper", "cpu_fma"}) {
    Product p = drawn(64, "normal", format_named("float32"), 13);
    p.a[5] = std::numeric_limits<double>::quiet_NaN();
    p.a[64 * 3] = std::numeric_limits<double>::infinity();
    const Case c = case_of(p, format_named("float32"), "float32");
    const auto judged = [&](const Product& by) {
      GateRequest request{.bounds = {.standards = {"expected_error"}, .equal_nan = true}};
      if (*machine != 0) request.machine = &machine_named(machine);
      return gate_case(c, product_in(by, "ascending", "float32"), request).verdicts.at(0);
    };
    const Verdict right = judged(p), wrong = judged(rounded(p, "tfloat32"));
    EXPECT_EQ(right.outcome, Outcome::kPass) << machine << ": " << right.because;
    EXPECT_THAT(right.notes, testing::ElementsAre(testing::HasSubstr("NaN where NaN is expected")));
    EXPECT_EQ(wrong.outcome, Outcome::kFail) << machine;
    EXPECT_THAT(wrong.notes, testing::ElementsAre(testing::HasSubstr("NaN where NaN is expected")));
  }
}

}  // namespace
}  // namespace assay
