// scaled_matmul.
#include "assay/op/scaled_matmul.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/machine/dot.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;
using testing::HasSubstr;

// Returns scales of uneven sizes, so that a scale in a wrong place changes the result.
Tensor some_scales(const Shape& shape, std::uint64_t stream, bool power_of_two = false) {
  Random random(77, stream);
  std::vector<double> list(static_cast<std::size_t>(element_count(shape)));
  for (double& v : list) {
    v = power_of_two ? std::ldexp(1.0, static_cast<int>(random.below(9)) - 4)
                     : 0.01 + random.uniform();
  }
  return values("float32", shape, list);
}

Case product(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, const char* a_scaling,
             const char* b_scaling) {
  return operation("scaled_matmul",
                   {{"a", std::move(a)},
                    {"b", std::move(b)},
                    {"scale_a", std::move(scale_a)},
                    {"scale_b", std::move(scale_b)}},
                   {{"a_scaling", a_scaling}, {"b_scaling", b_scaling}});
}

Case block_scaled(std::int64_t m, std::int64_t n, std::int64_t k, const char* a = "float8_e4m3fn",
                  const char* b = "float8_e4m3fn") {
  return product(random_tensor(a, {m, k}, 1), random_tensor(b, {k, n}, 2),
                 some_scales({m, (k + 127) / 128}, 3),
                 some_scales({(k + 127) / 128, (n + 127) / 128}, 4), "1x128", "128x128");
}

TEST(ScaledMatmulTest, ByHand) {
  const Tensor a = values("float8_e4m3fn", {2, 3}, {1, 2, 3, -1, 0, 4}),
               b = values("float8_e4m3fn", {3, 2}, {1, 0.5, -2, 1, 1, 8});
  for (const char* machine : {"exact", "hopper", "ada"}) {
    EXPECT_EQ(on(machine, product(a, b, values("float32", {}, {2}), values("float32", {}, {4}),
                                  "tensor", "tensor")),
              (std::vector<double>{0, 8 * 26.5, 24, 8 * 31.5}));
    EXPECT_EQ(on(machine, product(a, b, values("float32", {2}, {1, 2}),
                                  values("float32", {2}, {1, 10}), "row", "row")),
              (std::vector<double>{0, 265, 6, 630}));
    EXPECT_EQ(on(machine, product(a, b, values("float32", {2, 2}, {1, 2, 3, 4}),
                                  values("float32", {2, 1}, {1, 10}), "1x2", "2x2")),
              (std::vector<double>{-3 + 20 * 3, 2.5 + 20 * 24, -3 + 40 * 4, -1.5 + 40 * 32}));
  }
}

// The product is 1 + 2^-3. With these scales, each order of the two multiplications rounds to
// another number.
TEST(ScaledMatmulTest, ScalesInEachOrder) {
  const Tensor a = values("float8_e4m3fn", {1, 1}, {1.125}),
               b = values("float8_e4m3fn", {1, 1}, {1});
  const float p = 1.125f, x = 1 + 0x4aacbdp-23f, y = 1 + 0x42ee4p-23f;
  Case c = product(a, b, values("float32", {}, {static_cast<double>(x)}),
                   values("float32", {}, {static_cast<double>(y)}), "tensor", "tensor");
  const std::vector<std::pair<const char*, float>> orders = {
      {"together", p * (x * y)}, {"a_first", (p * x) * y}, {"b_first", (p * y) * x}};
  EXPECT_EQ(on("hopper", c), std::vector<double>{static_cast<double>(orders[0].second)});
  for (const auto& [order, expected] : orders) {
    c.attributes["scale_order"] = std::string(order);
    for (const std::int64_t fused : {0, 1}) {
      c.attributes["fused"] = fused;
      EXPECT_EQ(on("hopper", c), std::vector<double>{static_cast<double>(expected)}) << order;
    }
  }
  c.attributes["scale_order"] = std::string("b");
  EXPECT_EQ(error_of([&] { on("hopper", c); }),
            "case t: scale_order is 'b'; it may be together, a_first, b_first");
}

// Compares every element with the test's own loop over dot_oracle().
void expect_model(const Case& c, const char* machine, std::int64_t step, bool fused,
                  const char* compute = nullptr) {
  const auto a = c.input("a").view().values(), b = c.input("b").view().values(),
             sa = c.input("scale_a").view().values(), sb = c.input("scale_b").view().values();
  const std::int64_t m = c.input("a").shape()[0], k = c.input("a").shape()[1],
                     n = c.input("b").shape()[1], blocks = (k + 127) / 128;
  DotModel model = dot_model(machine_named(machine),
                             compute != nullptr ? format_named(compute) : c.input("a").format());
  if (compute == nullptr) model.other_input = c.input("b").format().name;
  const auto out = on(machine, c);
  int differ = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::int64_t first = 0; first < k; first += step) {
        const std::int64_t depth = std::min(step, std::min(k, (first / 128 + 1) * 128) - first);
        const auto part = static_cast<float>(dot_part_oracle(model, depth, a.data() + i * k + first,
                                                             1, b.data() + first * n + j, n, 0));
        const auto scale =
            static_cast<float>(sa[static_cast<std::size_t>(i * blocks + first / 128)]) *
            static_cast<float>(
                sb[static_cast<std::size_t>(first / 128 * ((n + 127) / 128) + j / 128)]);
        sum = fused ? std::fma(part, scale, sum) : sum + part * scale;
      }
      differ += out[static_cast<std::size_t>(i * n + j)] == sum ? 0 : 1;
    }
  }
  EXPECT_EQ(differ, 0);
}

TEST(ScaledMatmulTest, BlocksOnTheMachines) {
  Case c = block_scaled(5, 140, 300);
  expect_model(c, "hopper", 128, true);
  expect_model(c, "ada", 128, true);
  c.attributes["fused"] = std::int64_t{0};
  expect_model(c, "hopper", 128, false);
  c.attributes["promotion_interval"] = std::int64_t{64};
  expect_model(c, "hopper", 64, false);
  expect_model(block_scaled(4, 30, 256, "float8_e4m3fn", "float8_e5m2"), "hopper", 128, true);
}

// If a machine has no unit for the codes, compute_dtype converts them to float16 or bfloat16 if
// that holds them.
TEST(ScaledMatmulTest, ComputeDtype) {
  Case c = block_scaled(4, 20, 200, "float_e5m6", "float8_e4m3fn");
  EXPECT_THAT(error_of([&] { on("hopper", c); }),
              HasSubstr("float8_e5m2, float32, int8, not "
                        "float_e5m6; compute_dtype converts operands first"));
  c.attributes["compute_dtype"] = "float16";
  expect_model(c, "hopper", 128, true, "float16");
  expect_model(c, "ascend910b", 128, true, "float16");
  expect_model(c, "cpu_mul_add", 128, false, "float16");
  c.attributes["compute_dtype"] = "float8_e5m2";
  EXPECT_EQ(error_of([&] { on("hopper", c); }),
            "case t: compute_dtype float8_e5m2 does not hold all values of float_e5m6");
}

TEST(ScaledMatmulTest, ACustomFormat) {
  const Format& custom = custom_float(4, 5, 7, Specials::kNanOnly);
  Case c = block_scaled(4, 20, 200);
  c.inputs["a"] =
      Tensor::from_values(custom, {4, 200}, random_tensor("float32", {4, 200}, 8).view().values());
  c.attributes["compute_dtype"] = "bfloat16";
  expect_model(c, "hopper", 128, true, "bfloat16");
  EXPECT_EQ(cases::outside_tolerance(c, "cpu_fma"), 0);
}

// Scales that do not change along K are multiplied once, after promotion.
TEST(ScaledMatmulTest, PromotionBeforeTheScale) {
  Case c = product(random_tensor("float8_e4m3fn", {3, 512}, 1),
                   random_tensor("float8_e4m3fn", {512, 4}, 2), some_scales({3}, 3),
                   some_scales({4}, 4), "row", "row");
  Case plain = cases::matmul(c.input("a"), c.input("b"));
  for (const std::int64_t interval : {0, 128}) {
    c.attributes["promotion_interval"] = plain.attributes["promotion_interval"] = interval;
    const auto out = on("hopper", c), sums = on("hopper", plain);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const float scale =
          static_cast<float>(c.input("scale_a").view().value_at(static_cast<std::int64_t>(i) / 4)) *
          static_cast<float>(c.input("scale_b").view().value_at(static_cast<std::int64_t>(i) % 4));
      EXPECT_EQ(out[i], static_cast<float>(sums[i]) * scale);
    }
  }
}

// int8 codes have exact sums, which are rounded once to float32 before the scales are multiplied.
TEST(ScaledMatmulTest, Int8) {
  const std::int64_t m = 3, n = 5, k = 4000;
  const Tensor a = cases::integer_tensor("int8", {m, k}, 1, 127),
               b = cases::integer_tensor("int8", {k, n}, 2, 127);
  Case c = product(a, b, some_scales({m}, 3), some_scales({n}, 4), "row", "row");
  EXPECT_EQ(output_format(c).name, "float32");
  const auto out = on("ascend910b", c);
  const auto va = a.view().values(), vb = b.view().values();
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::int32_t sum = 0;
      for (std::int64_t kk = 0; kk < k; ++kk) {
        sum += static_cast<std::int32_t>(va[static_cast<std::size_t>(i * k + kk)] *
                                         vb[static_cast<std::size_t>(kk * n + j)]);
      }
      EXPECT_EQ(
          out[static_cast<std::size_t>(i * n + j)],
          static_cast<float>(sum) * (static_cast<float>(c.input("scale_a").view().value_at(i)) *
                                     static_cast<float>(c.input("scale_b").view().value_at(j))));
    }
  }
  EXPECT_EQ(cases::outside_tolerance(c, "ascend910b"), 0);
  EXPECT_THAT(error_of([&] { on("ada", c); }), HasSubstr("not int8; compute_dtype"));
}

// The golden result is the product of the dequantised operands, for any layout.
TEST(ScaledMatmulTest, GoldenDequantises) {
  const std::int64_t batch = 2, m = 130, k = 260, n = 140;
  for (const bool turned : {false, true}) {
    const Shape a_shape = turned ? Shape{batch, k, m} : Shape{batch, m, k};
    const Shape b_shape = turned ? Shape{n, k} : Shape{k, n};
    const Shape sa = turned ? Shape{batch, 3, m} : Shape{batch, m, 3};
    const Shape sb = turned ? Shape{2, 3} : Shape{3, 2};
    Case c = product(random_tensor("float8_e4m3fn", a_shape, 1),
                     random_tensor("float8_e5m2", b_shape, 2), some_scales(sa, 3),
                     some_scales(sb, 4), "1x128", "128x128");
    c.attributes["transpose_a"] = c.attributes["transpose_b"] = std::int64_t{turned};
    const auto stored = [](const Case& from, const char* x, const char* scale,
                           const char* scaling) {
      return emulate(operation("dequantize", {{"x", from.input(x)}, {"scale", from.input(scale)}},
                               {{"scaling", scaling}, {"output_dtype", "float64"}}),
                     machine_named("exact"));
    };
    Case plain = cases::matmul(stored(c, "a", "scale_a", turned ? "128x1" : "1x128"),
                               stored(c, "b", "scale_b", "128x128"));
    plain.attributes["transpose_a"] = plain.attributes["transpose_b"] = std::int64_t{turned};
    const auto golden = golden_result(c).view().values(),
               peer = golden_result(plain).view().values();
    EXPECT_EQ(golden, peer);
    // One element also equals a plain sum.
    double sum = 0;
    const std::int64_t b = 1, i = 129, j = 139;
    for (std::int64_t kk = 0; kk < k; ++kk) {
      sum +=
          plain.input("a").view().value_at(turned ? (b * k + kk) * m + i : (b * m + i) * k + kk) *
          plain.input("b").view().value_at(turned ? j * k + kk : kk * n + j);
    }
    EXPECT_NEAR(golden[static_cast<std::size_t>((b * m + i) * n + j)], sum, 1e-11);
  }
}

// Returns a case in which each block of a row holds one large value, and many values that are cut
// off by the alignment to it.
Case with_losses(std::int64_t m, std::int64_t n, std::int64_t k) {
  Case c = block_scaled(m, n, k);
  std::vector<double> a(static_cast<std::size_t>(m * k), 0.029296875);
  for (std::size_t i = 0; i < a.size(); i += 64) a[i] = 256;
  c.inputs["a"] = values("float8_e4m3fn", {m, k}, a);
  c.inputs["b"] =
      values("float8_e4m3fn", {k, n}, std::vector<double>(static_cast<std::size_t>(k * n), 1));
  return c;
}

// All errors are within the bounds, and some exceed 0.4 of them, so the bounds are not loose.
TEST(ScaledMatmulTest, MeetsItsBounds) {
  double worst = 0;
  for (const char* machine : {"hopper", "ada"}) {
    for (const char* order : {"together", "a_first", "b_first", "losses"}) {
      const bool losses = order == std::string("losses");
      Case c = losses ? with_losses(3, 200, 1024) : block_scaled(16, 200, 1000);
      c.attributes["machine"] = machine;
      if (!losses) c.attributes["scale_order"] = order;
      EXPECT_EQ(cases::outside_tolerance(c, machine), 0);
      const auto out = on(machine, c), golden = golden_result(c).view().values(),
                 bounds = accumulation_bounds(c, machine_named(machine)).view().values();
      for (std::size_t i = 0; i < out.size(); ++i) {
        ASSERT_LE(std::abs(out[i] - golden[i]), bounds[i]) << machine;
        worst = std::max(worst, std::abs(out[i] - golden[i]) / bounds[i]);
      }
    }
  }
  EXPECT_GT(worst, 0.4);
}

// If no machine is named and the codes are converted to float16, the tolerance is that of float32
// accumulation. For units of 8-bit floats, whose sums may have only 14 bits, no tolerance is
// derived until a machine is named.
TEST(ScaledMatmulTest, ToleranceWithoutAMachine) {
  Case c = with_losses(3, 100, 512);
  c.attributes["compute_dtype"] = "float16";
  EXPECT_EQ(cases::outside_tolerance(c, "cpu_fma"), 0);
  EXPECT_EQ(cases::outside_tolerance(c, "hopper"), 0);
  EXPECT_THAT(derived_tolerance(c).why, HasSubstr("n = K + 4 stretches + 2 roundings of float32"));
  c.attributes.erase("compute_dtype");
  EXPECT_THAT(error_of([&] { derived_tolerance(c); }),
              HasSubstr("as few as 14 bits; name the machine that computed them"));
  c.attributes["machine"] = "hopper";
  EXPECT_EQ(cases::outside_tolerance(c, "hopper"), 0);
}

TEST(ScaledMatmulTest, ThreadsDoNotMatter) {
  const Case c = block_scaled(33, 150, 400);
  EXPECT_EQ(emulate(c, machine_named("hopper"), 1).view().values(),
            emulate(c, machine_named("hopper"), 3).view().values());
}

TEST(ScaledMatmulTest, NothingToAdd) {
  const Case c =
      product(values("float8_e4m3fn", {2, 0}, {}), values("float8_e4m3fn", {0, 2}, {}),
              values("float32", {2, 0}, {}), values("float32", {0, 1}, {}), "1x128", "128x128");
  for (const char* machine : {"exact", "hopper"}) {
    EXPECT_EQ(on(machine, c), (std::vector<double>{0, 0, 0, 0}));
  }
}

// Kernels keep the scales of rows as [M, 1] and those of columns as [1, N]. Extents of 1 do not
// matter, for matrices, batches and quantized vectors alike.
TEST(ScaledMatmulTest, ExtentsOfOneInTheShapesOfScales) {
  const Tensor a = cases::integer_tensor("int8", {3, 8}, 1, 127),
               b = cases::integer_tensor("int8", {8, 5}, 2, 127);
  const auto result = [&](const Shape& of_a, const Shape& of_b, const char* scaling) {
    return on("exact", product(a, b, some_scales(of_a, 3), some_scales(of_b, 4), scaling, scaling));
  };
  const auto plain = result({3}, {5}, "row");
  EXPECT_EQ(result({3, 1}, {1, 5}, "row"), plain);
  EXPECT_EQ(result({3, 1}, {5, 1}, "row"), plain);
  const auto one = result({}, {}, "tensor");
  EXPECT_EQ(result({1}, {1, 1}, "tensor"), one);
  EXPECT_EQ(error_of([&] {
              (void)result({1, 5}, {5}, "row");
            }),
            "case t: scale_a has the shape [1, 5], but the scales of its tensor have [3]");
}

TEST(ScaledMatmulTest, RefusesByName) {
  const auto error = [](const Case& c) { return error_of([&] { on("hopper", c); }); };
  Case c = block_scaled(4, 20, 200);
  c.inputs["scale_a"] = some_scales({4, 1}, 1);
  EXPECT_EQ(error(c),
            "case t: scale_a has the shape [4, 1], but the scales of its tensor have [4, 2]");
  c = block_scaled(4, 20, 200);
  c.attributes["a_scaling"] = "rows";
  EXPECT_THAT(error(c),
              HasSubstr("a_scaling is 'rows', which does not fit a tensor of shape [4, 200]"));
  c = block_scaled(4, 20, 200);
  c.attributes["promotion_interval"] = std::int64_t{-1};
  EXPECT_EQ(error(c), "case t: promotion_interval is -1, below 0");
  c = block_scaled(4, 20, 200, "int8");
  EXPECT_EQ(error(c),
            "case t: a is int8 and b is float8_e4m3fn; scaled_matmul takes two float "
            "operands, or two of int8");
  c = block_scaled(4, 20, 200);
  c.attributes["output_dtype"] = "int32";
  EXPECT_EQ(error(c),
            "case t: output_dtype is int32, but the result of scaled_matmul is of a float dtype");
  c = block_scaled(4, 20, 200);
  c.attributes["split_k"] = std::int64_t{4};
  EXPECT_THAT(error(c), HasSubstr("does not know the parameter 'split_k'"));
  c = product(values("int8", {1, 131072}, std::vector<double>(131072, 1)),
              values("int8", {131072, 1}, std::vector<double>(131072, 1)), some_scales({}, 1),
              some_scales({}, 2), "tensor", "tensor");
  EXPECT_EQ(error_of([&] { on("ascend910b", c); }),
            "case t: K is 131072; sums of more than 131071 products of int8 may leave int32");
}

}  // namespace
}  // namespace assay
