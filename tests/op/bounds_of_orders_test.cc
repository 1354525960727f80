// Tests the bounds of sums whose order the case does not give: they hold for any order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "assay/op/sum_bound.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::operation;
using cases::random_tensor;
using cases::values;

float sequential(const std::vector<float>& x) {
  float sum = 0;
  for (const float v : x) sum += v;
  return sum;
}

std::vector<double> bounds_of(const Case& c) {
  return accumulation_bounds(c, machine_named("cpu_fma")).view().values();
}

// Adds 0.1 n times, one after the other. The error is within the bound of any order, but outside
// the bound of a tree.
TEST(BoundsOfOrders, ASequentialSumIsWithinTheBoundOfAnyOrder) {
  for (const std::size_t n : {257u, 5000u, 100000u}) {
    const std::vector<double> x(n, 0.1);
    Case c = operation("reduce_sum", {{"x", values("float32", x)}});
    const double exact = golden_result(c).view().value_at(0);
    const float sum = sequential(std::vector<float>(n, 0.1f));
    const double off = std::abs(static_cast<double>(sum) - exact);
    EXPECT_LE(off, bounds_of(c)[0]) << n;
    EXPECT_LE(off, derived_tolerance(c).atol) << n;
    EXPECT_DOUBLE_EQ(bounds_of(c)[0] / (1 + 0x1p-24),
                     static_cast<double>(n - 1) * 0x1p-24 *
                         (static_cast<double>(0.1f) * static_cast<double>(n)));
    c.attributes["order"] = "pairwise";
    EXPECT_GT(off, bounds_of(c)[0]) << n;
  }
}

// Adds the exponentials of a long row one after the other.
TEST(BoundsOfOrders, ASequentialSoftmaxIsWithinTheBoundOfAnyOrder) {
  for (const std::int64_t n : {32000, 65536}) {
    Case c = operation("softmax", {{"x", random_tensor("float32", {1, n}, 3, 1e-3)}});
    const std::vector<double> x = c.input("x").view().values(),
                              exact = golden_result(c).view().values();
    const float most = static_cast<float>(*std::max_element(x.begin(), x.end()));
    std::vector<float> terms;
    for (const double v : x) terms.push_back(std::exp(static_cast<float>(v) - most));
    const float sum = sequential(terms);
    const auto outside = [&] {
      const std::vector<double> bounds = bounds_of(c);
      int count = 0;
      for (std::size_t i = 0; i < terms.size(); ++i) {
        const double y = static_cast<double>(terms[i] / sum);
        count += std::abs(y - exact[i]) <= bounds[i] + 0x1p-24 * exact[i] ? 0 : 1;
      }
      return count;
    };
    EXPECT_EQ(outside(), 0) << n;
    c.attributes["order"] = "pairwise";
    EXPECT_GT(outside(), 0) << n;
  }
}

// There is still a bound if the roundings of any order come to more than the sum.
TEST(BoundsOfOrders, LongFloat16SumsHaveABound) {
  for (const char* op : {"reduce_sum", "reduce_mean", "softmax", "layernorm", "rmsnorm"}) {
    const Case c = operation(op, {{"x", random_tensor("float16", {2, 5000}, 8, 0.05)}},
                             {{"axis", std::int64_t{1}}});
    const std::vector<double> bounds = bounds_of(c);
    for (const double bound : bounds) {
      EXPECT_GT(bound, 0) << op;
      EXPECT_LT(bound, no_bound(format_named("float16"))) << op;
    }
    const Tensor output = emulate(c, machine_named("ascend910b"));
    const std::vector<double> y = output.view().values(), exact = golden_result(c).view().values();
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_LE(std::abs(y[i] - exact[i]), bounds[i] + 0x1p-11 * std::abs(exact[i]) + 0x1p-25)
          << op;
    }
  }
}

}  // namespace
}  // namespace assay
