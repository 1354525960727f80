// add, sub, mul, div, fma, axpy.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/machine/vector.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;

TEST(ElementwiseTest, ByHand) {
  const Tensor a = values("float32", {1, -2, 3}), b = values("float32", {0.5, 4, -8});
  for (const char* machine : {"exact", "ascend910b"}) {
    EXPECT_EQ(on(machine, operation("add", {{"a", a}, {"b", b}})),
              (std::vector<double>{1.5, 2, -5}));
    EXPECT_EQ(on(machine, operation("sub", {{"a", a}, {"b", b}})),
              (std::vector<double>{.5, -6, 11}));
    EXPECT_EQ(on(machine, operation("mul", {{"a", a}, {"b", b}})),
              (std::vector<double>{.5, -8, -24}));
    EXPECT_EQ(on(machine, operation("div", {{"a", a}, {"b", b}})),
              (std::vector<double>{2, -0.5, -0.375}));
    EXPECT_EQ(on(machine, operation("fma", {{"a", a}, {"b", b}, {"c", b}})),
              (std::vector<double>{1, -4, -32}));
    EXPECT_EQ(
        on(machine, operation("axpy", {{"a", values("float32", {}, {2})}, {"x", a}, {"y", b}})),
        (std::vector<double>{2.5, 0, -2}));
  }
}

// On the CPU that runs the test, float arithmetic is the reference.
TEST(ElementwiseTest, Float32IsTheProcessors) {
  const Tensor a = random_tensor("float32", {40000}, 1), b = random_tensor("float32", {40000}, 2),
               c = random_tensor("float32", {40000}, 3);
  const auto va = a.view().values(), vb = b.view().values(), vc = c.view().values();
  Case test = operation("fma", {{"a", a}, {"b", b}, {"c", c}});
  const auto fused = on("ascend910b", test), exact = on("exact", test);
  test.attributes["fused"] = std::int64_t{0};
  const auto twice = on("ascend910b", test);
  const auto quotient = on("ascend910b", operation("div", {{"a", a}, {"b", b}}));
  int differ = 0;
  for (std::size_t i = 0; i < va.size(); ++i) {
    const auto x = static_cast<float>(va[i]), y = static_cast<float>(vb[i]),
               z = static_cast<float>(vc[i]);
    ASSERT_EQ(fused[i], std::fma(x, y, z));
    ASSERT_EQ(exact[i], std::fma(x, y, z));
    const float product = x * y;
    ASSERT_EQ(twice[i], product + z);
    ASSERT_EQ(quotient[i], x / y);
    differ += fused[i] != twice[i] ? 1 : 0;
  }
  EXPECT_GT(differ, 4000);
}

// The 910B's vector unit has no bfloat16 arithmetic. It computes in float32 and then rounds once
// more.
TEST(ElementwiseTest, Bfloat16GoesThroughFloat32) {
  const Tensor a = random_tensor("bfloat16", {5000}, 4), b = random_tensor("bfloat16", {5000}, 5);
  const auto va = a.view().values(), vb = b.view().values();
  const auto quotient = on("ascend910b", operation("div", {{"a", a}, {"b", b}}));
  for (std::size_t i = 0; i < va.size(); ++i) {
    const float wide = static_cast<float>(va[i]) / static_cast<float>(vb[i]);
    ASSERT_EQ(quotient[i], round_to(format_named("bfloat16"), static_cast<double>(wide)));
  }
}

TEST(ElementwiseTest, Policies) {
  const Tensor a = values("float16", {60000, -60000, 0x1p-14}),
               b = values("float16", {60000, -60000, 0.5});
  const auto add = [&](std::int64_t saturate) {
    return operation("add", {{"a", a}, {"b", b}}, {{"saturate", saturate}});
  };
  EXPECT_EQ(on("ascend910b", operation("add", {{"a", a}, {"b", b}}))[0], 65504);
  EXPECT_EQ(on("ascend910b", add(1))[1], -65504);
  EXPECT_EQ(on("ascend910b", add(0))[0], kInfinity);
  EXPECT_EQ(golden_result(add(0)).view().values()[0], 120000);
  // The golden result saturates, as the case asks.
  EXPECT_EQ(golden_result(add(1)).view().values()[0], 65504);
  EXPECT_EQ(golden_result(add(1)).format().name, "float64");
  Case mul = operation("mul", {{"a", a}, {"b", b}});
  EXPECT_EQ(on("ascend910b", mul)[2], 0x1p-15);
  mul.attributes["subnormals"] = "flush";
  EXPECT_EQ(on("ascend910b", mul)[2], 0);
}

TEST(ElementwiseTest, ScalarsAndThreads) {
  const Tensor x = random_tensor("float16", {3, 20000}, 6);
  const Case c = operation("mul", {{"a", x}, {"b", values("float16", {}, {3})}});
  const Tensor one = emulate(c, machine_named("ascend910b"), 1);
  const Tensor four = emulate(c, machine_named("ascend910b"), 4);
  EXPECT_EQ(one.shape(), (Shape{3, 20000}));
  EXPECT_EQ(one.view().values(), four.view().values());
  EXPECT_EQ(one.view().value_at(12345), round_to(x.format(), 3 * x.view().value_at(12345)));
  const Case scalars =
      operation("add", {{"a", values("float16", {}, {2})}, {"b", values("float16", {}, {3})}});
  EXPECT_TRUE(emulate(scalars, machine_named("ascend910b")).shape().empty());
  EXPECT_EQ(on("exact", scalars), std::vector<double>{5});
  EXPECT_TRUE(on("ascend910b",
                 operation("add", {{"a", values("float16", {})}, {"b", values("float16", {})}}))
                  .empty());
}

TEST(ElementwiseTest, Errors) {
  const Tensor a = random_tensor("float16", {4}, 7);
  const auto error = [&](const Tensor& b, const char* machine) {
    return error_of([&] { on(machine, operation("add", {{"a", a}, {"b", b}})); });
  };
  EXPECT_EQ(error(random_tensor("float16", {4, 1}, 8), "exact"),
            "case t: a is [4] and b is [4, 1]; add takes operands of one shape, or scalars of rank "
            "0: nothing else broadcasts");
  EXPECT_EQ(error(random_tensor("float32", {4}, 8), "exact"),
            "case t: add takes operands of one dtype; a is float16, b is float32");
  EXPECT_EQ(error(values("int32", {1, 2, 3, 4}), "exact"),
            "case t: add takes float operands; b is int32");
  const Tensor wide = random_tensor("float64", {4}, 9);
  EXPECT_EQ(error_of([&] {
              on("ascend910b", operation("add", {{"a", wide}, {"b", wide}}));
            }),
            "case t: the vector unit of ascend910b takes float16, bfloat16, float32, not float64");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("add", {{"a", a}, {"b", a}}, {{"output_dtype", "int8"}}));
            }),
            "case t: output_dtype is int8, but add gives a float result; convert it with the "
            "operator cast");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("mul", {{"a", a}, {"b", a}}, {{"fused", std::int64_t{1}}}));
            }),
            "case t: mul does not know the parameter 'fused'; it knows output_dtype, saturate, "
            "subnormals");
  EXPECT_EQ(error_of([&] {
              golden_result(operation("fma", {{"a", a}, {"b", a}}));
            }),
            "case t: fma needs the input 'c'; its inputs are a, b");
}

TEST(ElementwiseTest, TolerancesAcceptTheMachine) {
  std::uint64_t stream = 20;
  for (const char* input : {"float16", "bfloat16", "float32"}) {
    for (const char* output : {"float16", "bfloat16", "float32"}) {
      for (const char* op : {"add", "sub", "mul", "div", "fma", "axpy"}) {
        for (const std::int64_t fused : {0, 1}) {
          const bool ternary = op == std::string("fma") || op == std::string("axpy");
          if (!ternary && fused == 1) continue;
          // With the smaller scale, some results are subnormal in float16.
          for (const double scale : {1.0, 1e-3}) {
            Case c = operation(op, {}, {{"output_dtype", std::string(output)}});
            for (const char* name : {"a", "b", "c", "x", "y"}) {
              c.inputs[name] = random_tensor(input, {700}, stream++, scale);
            }
            if (ternary) c.attributes["fused"] = fused;
            EXPECT_EQ(cases::outside_tolerance(c, "ascend910b"), 0)
                << op << " " << input << " " << output << " " << scale << " " << fused;
          }
        }
      }
    }
  }
}

TEST(ElementwiseTest, NoToleranceWhereSubnormalsAreFlushed) {
  const Case c = operation(
      "add", {{"a", random_tensor("float16", {9}, 8)}, {"b", random_tensor("float16", {9}, 9)}},
      {{"subnormals", "flush"}});
  EXPECT_EQ(error_of([&] { derived_tolerance(c); }),
            "case t: no tolerance can be derived: its subnormals are flushed");
}

TEST(ElementwiseTest, TolerancesAreHalfAnUlp) {
  const Case c = operation(
      "add", {{"a", random_tensor("float16", {9}, 8)}, {"b", random_tensor("float16", {9}, 9)}});
  const DerivedTolerance t = derived_tolerance(c);
  EXPECT_EQ(t.rtol, 0x1p-11);
  EXPECT_EQ(t.atol, 0x1p-25);
  // If the right result is exact, a result one ulp above it is outside the tolerance.
  const Tensor right = emulate(c, machine_named("ascend910b"));
  const auto golden = golden_result(c).view().values();
  for (std::int64_t i = 0; i < 9; ++i) {
    const double wrong = decode(right.format(), next_up(right.format(), right.bits_at(i)));
    const double exact = golden[static_cast<std::size_t>(i)];
    if (std::abs(exact) < 0x1p-8 || right.view().value_at(i) != exact) continue;
    EXPECT_GT(std::abs(wrong - exact), t.atol + t.rtol * std::abs(exact)) << i;
  }
}

}  // namespace
}  // namespace assay
