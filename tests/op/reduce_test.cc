// reduce_sum, reduce_mean, reduce_max.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/machine/vector.h"
#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;

constexpr const char* kOrders[] = {"sequential", "pairwise", "block", "ascend910b_first_n",
                                   "ascend910b_high_dim"};

Case reduction(const char* op, Tensor x, std::optional<std::int64_t> axis = std::nullopt,
               std::optional<std::string> order = std::nullopt) {
  Case c = operation(op, {{"x", std::move(x)}});
  if (axis) c.attributes["axis"] = *axis;
  if (order) c.attributes["order"] = *order;
  if (order == "block") c.attributes["block_size"] = std::int64_t{48};
  return c;
}

TEST(ReduceTest, AxesAndShapes) {
  const Tensor x = values("float32", {2, 3}, {1, 2, 4, 8, 16, 32});
  for (const char* machine : {"exact", "ascend910b"}) {
    EXPECT_EQ(on(machine, reduction("reduce_sum", x, 0)), (std::vector<double>{9, 18, 36}));
    EXPECT_EQ(on(machine, reduction("reduce_sum", x, 1)), (std::vector<double>{7, 56}));
    EXPECT_EQ(on(machine, reduction("reduce_sum", x, -1)), (std::vector<double>{7, 56}));
    EXPECT_EQ(on(machine, reduction("reduce_sum", x)), std::vector<double>{63});
    EXPECT_EQ(on(machine, reduction("reduce_mean", x, 0)), (std::vector<double>{4.5, 9, 18}));
    EXPECT_EQ(on(machine, reduction("reduce_max", x, 0)), (std::vector<double>{8, 16, 32}));
  }
  EXPECT_TRUE(emulate(reduction("reduce_sum", x), machine_named("ascend910b")).shape().empty());
  const Tensor cube = random_tensor("float32", {3, 4, 5}, 1);
  EXPECT_EQ(golden_result(reduction("reduce_max", cube, 1)).shape(), (Shape{3, 5}));
  EXPECT_EQ(
      golden_result(reduction("reduce_sum", values("float32", {2, 0}, {}), 1)).view().values(),
      (std::vector<double>{0, 0}));
}

// Every (row, column) is the oracle's, whatever the layout and the number of threads.
TEST(ReduceTest, IsTheOracleAlongTheAxis) {
  const Tensor x = random_tensor("float16", {3, 300, 7}, 2, 30);
  const auto v = x.view().values();
  const VectorArithmetic unit{&x.format(), Overflow::kSaturate};
  const ReduceOrder orders[] = {ReduceOrder::kSequential, ReduceOrder::kPairwise,
                                ReduceOrder::kBlock, ReduceOrder::kFirstN, ReduceOrder::kHighDim};
  for (std::size_t o = 0; o < std::size(kOrders); ++o) {
    Case c = reduction("reduce_sum", x, 1, kOrders[o]);
    c.attributes["output_dtype"] = "float32";
    const auto sums = on("ascend910b", c);
    const std::int64_t chunk = o == 2 ? 48 : 128;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j < 7; ++j) {
        EXPECT_EQ(sums[i * 7 + j],
                  reduce_oracle(unit, orders[o], chunk, 300, v.data() + i * 2100 + j, 7))
            << kOrders[o];
      }
    }
  }
}

// Wider than one part, and with several threads.
TEST(ReduceTest, PartsDoNotShow) {
  const Tensor x = random_tensor("float32", {400, 1000}, 3);
  const Case down = reduction("reduce_sum", x, 0, "ascend910b_first_n");
  const auto one = emulate(down, machine_named("ascend910b"), 1).view().values();
  EXPECT_EQ(emulate(down, machine_named("ascend910b"), 3).view().values(), one);
  const auto v = x.view().values();
  const VectorArithmetic unit{&x.format(), Overflow::kSaturate};
  for (const std::size_t j : {0u, 326u, 327u, 328u, 999u}) {
    EXPECT_EQ(one[j], reduce_oracle(unit, ReduceOrder::kFirstN, 64, 400, v.data() + j, 1000)) << j;
  }
}

TEST(ReduceTest, RowsAreSummedAloneAndTogether) {
  const Tensor x = random_tensor("float16", {21, 500}, 5);
  const auto v = x.view().values();
  const VectorArithmetic unit{&x.format(), Overflow::kSaturate};
  const auto sums = on("ascend910b", reduction("reduce_sum", x, 1, "sequential"));
  const auto maxima = on("ascend910b", reduction("reduce_max", x, 1));
  for (std::size_t i = 0; i < 21; ++i) {
    EXPECT_EQ(sums[i], reduce_oracle(unit, ReduceOrder::kSequential, 1, 500, v.data() + i * 500));
    const auto row = v.begin() + static_cast<std::ptrdiff_t>(i * 500);
    EXPECT_EQ(maxima[i], *std::max_element(row, row + 500));
  }
}

TEST(ReduceTest, TheReferenceIsExact) {
  const Tensor x = values("float32", {0x1p60, 1, 0x1p-40, -0x1p60});
  EXPECT_EQ(golden_result(reduction("reduce_sum", x)).view().values()[0], 1 + 0x1p-40);
  EXPECT_EQ(on("ascend910b", reduction("reduce_sum", x))[0], 0);
}

TEST(ReduceTest, AMeanDividesOnce) {
  const Tensor x = values("float16", {1, 1, 2});
  const double third = round_to(format_named("float16"), 4.0 / 3);
  EXPECT_EQ(on("ascend910b", reduction("reduce_mean", x))[0], third);
  EXPECT_EQ(golden_result(reduction("reduce_mean", x)).view().values()[0], 4.0 / 3);
  Case block = reduction("reduce_mean", x, 0, "block");
  block.attributes["output_dtype"] = "float32";
  EXPECT_EQ(on("ascend910b", block)[0], static_cast<double>(4.0f / 3.0f));
}

// More elements than float16 can count: the quotient is still that of the exact count.
TEST(ReduceTest, AMeanOfMoreElementsThanTheFormatCounts) {
  const std::int64_t n = 70003;
  const Tensor x = Tensor::from_values(format_named("float16"), {n},
                                       std::vector<double>(static_cast<std::size_t>(n), 0.75));
  const Case mean = operation("reduce_mean", {{"x", x}}, {{"saturate", std::int64_t{0}}});
  const Case sum = operation("reduce_sum", {{"x", x}}, {{"saturate", std::int64_t{0}}});
  const double total = on("ascend910b", sum)[0];
  EXPECT_EQ(on("ascend910b", mean)[0], round_to(x.format(), total / static_cast<double>(n)));
}

TEST(ReduceTest, Maxima) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Case c = reduction("reduce_max", values("float16", {3, 2}, {-0.0, 1, 0.0, nan, -0.0, inf}), 0);
  c.attributes["saturate"] = std::int64_t{0};
  auto out = on("ascend910b", c);
  EXPECT_TRUE(out[0] == 0 && !std::signbit(out[0]));
  EXPECT_TRUE(std::isnan(out[1]));
  EXPECT_TRUE(std::isnan(golden_result(c).view().values()[1]));
  c.attributes["order"] = "sequential";
  EXPECT_TRUE(std::isnan(on("ascend910b", c)[1]));
}

TEST(ReduceTest, Errors) {
  const Tensor x = random_tensor("float16", {2, 3}, 4);
  const auto error = [](const Case& c, const char* machine = "ascend910b") {
    return error_of([&] { on(machine, c); });
  };
  EXPECT_EQ(error(reduction("reduce_sum", x, 2)), "case t: axis 2 is no dimension of x [2, 3]");
  EXPECT_EQ(error(reduction("reduce_sum", x, -3), "exact"),
            "case t: axis -3 is no dimension of x [2, 3]");
  EXPECT_EQ(error(reduction("reduce_sum", x, 0, "random")),
            "case t: order is 'random'; it may be pairwise, sequential, "
            "block, ascend910b_first_n, ascend910b_high_dim, lanes, halves");
  Case c = reduction("reduce_sum", x, 0, "block");
  c.attributes.erase("block_size");
  EXPECT_EQ(error(c), "case t: the order block needs block_size, at least 1");
  c.attributes["block_size"] = std::int64_t{0};
  EXPECT_EQ(error(c), "case t: block_size is 0, below 1");
  c.attributes["block_size"] = std::int64_t{1};
  c.attributes["order"] = "pairwise";
  EXPECT_EQ(error(c), "case t: block_size goes with the order block alone");
  EXPECT_EQ(error(reduction("reduce_mean", values("float16", {0, 3}, {}), 0)),
            "case t: reduce_mean of no elements: x is [0, 3]");
  EXPECT_EQ(error(reduction("reduce_sum", values("int32", {1, 2}))),
            "case t: reduce_sum takes float operands; x is int32");
}

TEST(ReduceTest, TolerancesAcceptTheMachine) {
  std::uint64_t stream = 10;
  for (const char* op : {"reduce_sum", "reduce_mean", "reduce_max"}) {
    for (const char* input : {"float16", "bfloat16", "float32"}) {
      for (const char* output : {"float16", "float32", "bfloat16"}) {
        for (const char* order : kOrders) {
          for (const std::int64_t n : {1, 5, 64, 700}) {
            Case c = reduction(op, random_tensor(input, {6, n}, stream++), 1, order);
            c.attributes["output_dtype"] = std::string(output);
            EXPECT_EQ(cases::outside_tolerance(c, "ascend910b"), 0)
                << op << " " << input << " " << output << " " << order << " " << n;
          }
        }
      }
    }
  }
}

TEST(ReduceTest, TolerancesFollowTheOrder) {
  const Tensor x = values("float16", std::vector<double>(256, -1.0));
  const double u = 0x1p-11;
  for (const auto& [order, steps] :
       {std::pair("sequential", 255.0), {"pairwise", 8.0}, {"ascend910b_first_n", 8.0}}) {
    const DerivedTolerance t = derived_tolerance(reduction("reduce_sum", x, 0, order));
    EXPECT_EQ(t.rtol, 0) << order;
    EXPECT_DOUBLE_EQ(t.atol, steps * u / (1 - steps * u) * 256) << order;
  }
  EXPECT_EQ(
      error_of([] {
        derived_tolerance(reduction("reduce_sum", values("float16", std::vector<double>(1200, 1.0)),
                                    0, "sequential"));
      }),
      "case t: no tolerance can be derived: 1199 roundings of a float16 sum leave no digit");
}

}  // namespace
}  // namespace assay
