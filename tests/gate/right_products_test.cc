// Right products without a machine: float32 sums in orders that no machine's model has, of operands
// that are hard for the theory of expected_error.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
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
  c.golden = golden_result(c);
  return c;
}

// In float32, each product rounded by itself, or with `fused` blocks of 8 by multiply-add.
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
  std::mt19937_64 random(seed);
  for (std::uint64_t round = 0; round < right::times(); ++round) {
    for (const std::string& kind : right::kinds()) {
      for (const std::int64_t k : {1, 2, 3, 4, 7, 16, 33, 100, 300}) {
        Product p{3, 5, k, {}, {}};
        p.a = right::hard_values(kind, p.m * k, f, random);
        const std::vector<double> columns =
            right::hard_values(round % 2 == 0 && kind != "subnormal" ? kind : "normal", p.n * k, f,
                               random);
        p.b.resize(columns.size());
        for (std::int64_t j = 0; j < p.n; ++j) {
          for (std::int64_t kk = 0; kk < k; ++kk) {
            p.b[static_cast<std::size_t>(kk * p.n + j)] =
                columns[static_cast<std::size_t>(j * k + kk)];
          }
        }
        const Case c = case_of(p, f, output);
        // Results that are all 0 are untrusted by any standard.
        const std::vector<double> golden = c.golden->view().values();
        if (std::all_of(golden.begin(), golden.end(), [](double v) { return v == 0; })) continue;
        for (const std::string& order : orders) {
          outcomes.judge(c, product_in(p, order, output),
                         kind + ", K = " + std::to_string(k) + ", " + order);
        }
      }
    }
  }
  std::printf("%s to %s: %d right products, %d judged by the own bound, %d untrusted\n", dtype,
              output, outcomes.judged, outcomes.fell_back, outcomes.untrusted);
  return outcomes;
}

struct Formats {
  const char *dtype, *output;
};
class RightProducts : public testing::TestWithParam<Formats> {};

TEST_P(RightProducts, PassInAnyOrder) {
  const right::Outcomes outcomes = right_products(GetParam().dtype, GetParam().output, 1);
  EXPECT_EQ(outcomes.failed, 0) << outcomes.first;
}

INSTANTIATE_TEST_SUITE_P(Formats, RightProducts,
                         testing::Values(Formats{"float16", "float32"},
                                         Formats{"bfloat16", "float32"},
                                         Formats{"float8_e4m3fn", "float32"},
                                         Formats{"float32", "float32"},
                                         Formats{"float16", "float16"},
                                         Formats{"bfloat16", "bfloat16"}),
                         [](const auto& test) {
                           return std::string(test.param.dtype) + "_to_" + test.param.output;
                         });

}  // namespace
}  // namespace assay
