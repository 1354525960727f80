// Tests reduce_sum, reduce_mean and reduce_max.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/machine/vector.h"
#include "assay/op/order.h"
#include "assay/op/sum_bound.h"
#include "sum_oracles.h"
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

// The result at every (row, column) equals that of the oracle along the axis, for any layout and
// any number of threads.
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

// Tests a tensor that is wider than one part, with several threads.
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

// If a mean has more elements than float16 can count, the sum is still divided by the exact count.
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
  EXPECT_EQ(error(c),
            "case t: the order block needs the parameter block_size, which is at least 1");
  c.attributes["block_size"] = std::int64_t{0};
  EXPECT_EQ(error(c), "case t: block_size is 0, below 1");
  c.attributes["block_size"] = std::int64_t{1};
  c.attributes["order"] = "pairwise";
  EXPECT_EQ(error(c),
            "case t: block_size is only for the orders block, lanes and halves; leave it out, or "
            "set order to one of these");
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

// Plans with the trees of kernels that others wrote, and with some trees that no kernel has.
using Words = std::map<std::string, Attribute>;
const std::int64_t kOne = 1;
std::vector<Words> plans() {
  const auto number = [](std::int64_t v) { return Attribute(v); };
  const auto word = [](const char* v) { return Attribute(std::string(v)); };
  return {
      {{"order", word("lanes")},
       {"lanes", number(128)},
       {"vector", number(2)},
       {"warp", number(32)}},
      {{"order", word("lanes")},
       {"lanes", number(32)},
       {"vector", number(4)},
       {"accumulators", number(4)},
       {"accumulator_order", word("ascending")},
       {"lane_order", word("ascending")}},
      {{"order", word("lanes")},
       {"lanes", number(8)},
       {"accumulators", number(4)},
       {"warp", number(4)},
       {"warps_first", kOne},
       {"lane_order", word("ascending")},
       {"round", number(256)},
       {"tail_lanes", number(4)},
       {"tail_accumulators", number(2)}},
      {{"order", word("lanes")}, {"lanes", kOne}},
      {{"order", word("halves")},
       {"lanes", number(8)},
       {"block_size", number(128)},
       {"round", number(8)},
       {"lane_order", word("ascending")}},
      {{"order", word("lanes")},
       {"lanes", number(64)},
       {"block_size", number(64)},
       {"second_order", word("lanes")},
       {"second_lanes", number(4)},
       {"second_vector", number(2)},
       {"second_accumulators", number(2)}},
      {{"order", word("lanes")},
       {"lanes", number(16)},
       {"block_size", number(48)},
       {"lane_order", word("sequential")}},
      {{"order", word("block")},
       {"block_size", number(64)},
       {"second_order", word("pairwise")},
       {"second_dtype", word("float64")}},
  };
}

Case planned(const char* op, Tensor x, const Words& plan) {
  Case c = operation(op, {{"x", std::move(x)}}, {{"axis", std::int64_t{1}}});
  for (const auto& [name, value] : plan) c.attributes[name] = value;
  return c;
}

// Every row equals the result of the plan's oracle, in the format of the case's sums.
TEST(ReduceTest, APlanIsTheOracleAlongTheAxis) {
  for (const Words& words : plans()) {
    for (const char* dtype : {"float16", "bfloat16", "float32"}) {
      for (const bool own : {false, true}) {
        Case c = planned("reduce_sum", random_tensor(dtype, {70, 700}, 7), words);
        c.attributes["output_dtype"] = "float64";
        if (own) c.attributes["sum_dtype"] = std::string(dtype);
        const SumOrder order = asked_order(c);
        ASSERT_TRUE(order.plan);
        const VectorArithmetic unit{&format_named(own ? dtype : "float32")},
            last = order.last(unit);
        const auto x = c.input("x").view().values();
        const auto sums = on("hopper", c);
        // The same numbers are also summed down the columns of the transposed tensor.
        Case down = c;
        std::vector<double> turned(x.size());
        for (std::size_t i = 0; i < 70; ++i) {
          for (std::size_t j = 0; j < 700; ++j) turned[j * 70 + i] = x[i * 700 + j];
        }
        down.inputs["x"] = values(dtype, {700, 70}, turned);
        down.attributes["axis"] = std::int64_t{0};
        EXPECT_EQ(on("hopper", down), sums);
        for (std::size_t i = 0; i < 70; ++i) {
          EXPECT_EQ(sums[i], plan_oracle(unit, last, *order.plan, 700, x.data() + i * 700))
              << dtype << " " << order.name;
        }
      }
    }
  }
}

TEST(ReduceTest, APlanIsWrittenAsItIsRead) {
  int checked = 0;
  for (const Words& words : plans()) {
    const Case c = planned("reduce_sum", random_tensor("float32", {2, 9}, 8), words);
    Case again = planned("reduce_sum", c.input("x"), plan_attributes(*asked_order(c).plan));
    if (words.count("second_dtype") != 0) again.attributes["second_dtype"] = "float64";
    ASSERT_TRUE(asked_order(again).plan);
    EXPECT_EQ(*asked_order(again).plan, *asked_order(c).plan);
    ++checked;
  }
  EXPECT_EQ(checked, 8);
}

// No right result of any plan is outside the tolerance or outside the accumulation bounds of its
// elements, for any data.
TEST(ReduceTest, BoundsAcceptEveryPlan) {
  std::uint64_t stream = 100;
  int judged = 0;
  for (const char* op : {"reduce_sum", "reduce_mean"}) {
    for (const Words& words : plans()) {
      for (const char* input : {"float16", "bfloat16", "float32"}) {
        for (const bool own : {false, true}) {
          for (const std::int64_t n : {1, 7, 64, 700}) {
            Case c =
                planned(op, random_tensor(input, {6, n}, stream++, n % 2 == 0 ? 0.5 : 8), words);
            c.attributes["output_dtype"] = "float32";
            if (own) c.attributes["sum_dtype"] = std::string(input);
            SCOPED_TRACE(formatted("{} {} {} {}", op, input, asked_order(c).name, n));
            const auto out = on("hopper", c), golden = golden_result(c).view().values();
            const std::vector<double> bounds =
                accumulation_bounds(c, machine_named("hopper")).view().values();
            EXPECT_EQ(cases::outside_tolerance(c, "hopper"), 0);
            for (std::size_t i = 0; i < out.size(); ++i) {
              EXPECT_LE(std::abs(out[i] - golden[i]),
                        bounds[i] + std::abs(golden[i]) * 0x1p-24 + 0x1p-150);
              ++judged;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(judged, 1500);
}

TEST(ReduceTest, PlansOfOneTreeCountItsRoundings) {
  const Tensor x = values("float16", {1, 256}, std::vector<double>(256, -1.0));
  Words words = {{"order", std::string("lanes")},
                 {"lanes", std::int64_t{32}},
                 {"sum_dtype", std::string("float16")}};
  // A lane adds 8 elements, and 5 shuffles follow: 7 + 5 additions.
  const double u = 0x1p-11;
  EXPECT_NEAR(derived_tolerance(planned("reduce_sum", x, words)).atol,
              (std::pow(1 + u, 12) - 1) * 256, 1e-9);
  // A float32 block of 64 elements has 1 + 5 additions. Then 4 sums of blocks are added one by one.
  words["sum_dtype"] = std::string("float32");
  words["block_size"] = std::int64_t{64};
  const double v = 0x1p-24, factor = std::pow(1 + v, 9) - 1;
  Case c = planned("reduce_sum", x, words);
  c.attributes["output_dtype"] = "float32";
  EXPECT_NEAR(derived_tolerance(c).atol, (1 + v) * factor * 256, 1e-12);  // rtol is v
}

TEST(ReduceTest, PlanErrors) {
  const Tensor x = random_tensor("float32", {2, 30}, 4);
  const auto error = [&](Words words) {
    const Case c = planned("reduce_sum", x, words);
    const std::string said = error_of([&] { on("hopper", c); });
    EXPECT_EQ(error_of([&] { golden_result(c); }), said);
    return said;
  };
  const Attribute lanes(std::string("lanes")), eight(std::int64_t{8});
  EXPECT_EQ(error({{"order", lanes}}),
            "case t: the order lanes needs the parameter lanes, which is at least 1");
  EXPECT_EQ(error({{"order", std::string("halves")}, {"lanes", eight}}),
            "case t: the order halves needs the parameter block_size, which is at least 1");
  EXPECT_EQ(error({{"lanes", eight}}),
            "case t: lanes is only for the orders lanes and halves; leave it out, or set order to "
            "one of these");
  EXPECT_EQ(error({{"vector", eight}}),
            "case t: vector is only for the orders lanes and halves; leave it out, or set order to "
            "one of these");
  EXPECT_EQ(error({{"order", lanes}, {"lanes", eight}, {"warp", std::int64_t{3}}}),
            "case t: warp is 3, which does not divide lanes, 8");
  EXPECT_EQ(error({{"order", lanes}, {"lanes", eight}, {"second_order", lanes}}),
            "case t: second_order is given without block_size, but it adds the sums of blocks; "
            "give block_size with the order block or lanes, or leave it out");
  EXPECT_EQ(error({{"second_dtype", std::string("float64")}}),
            "case t: second_dtype is given without block_size, but it adds the sums of blocks; "
            "give block_size with the order block or lanes, or leave it out");
  Words two = {{"order", lanes}, {"lanes", eight}, {"block_size", eight}, {"second_order", lanes}};
  EXPECT_EQ(error(two),
            "case t: the second_order lanes needs the parameter second_lanes, which is at least 1");
  two["second_lanes"] = eight;
  two["second_warp"] = std::int64_t{5};
  EXPECT_EQ(error(two), "case t: second_warp is 5, which does not divide second_lanes, 8");
  two.erase("second_warp");
  two["second_order"] = std::string("pairwise");
  EXPECT_EQ(error(two),
            "case t: second_lanes is only for the second_order lanes; leave it out, or set "
            "second_order to lanes");
  two.erase("second_lanes");
  two["second_dtype"] = std::string("float16");
  EXPECT_EQ(error(two),
            "case t: second_dtype is float16, which cannot hold the float32 sums of blocks");
  EXPECT_EQ(error({{"sum_dtype", std::string("float16")}}),
            "case t: sum_dtype is float16, which does not hold the float32 operands");
  EXPECT_EQ(error({{"sum_dtype", std::string("int32")}}),
            "case t: sum_dtype is 'int32'; sums are computed in float16, bfloat16, float32 or "
            "float64");
  EXPECT_EQ(error({{"order", lanes}, {"lanes", std::int64_t{1} << 40}}),
            "case t: lanes is 1099511627776, above 65536");
  // Other operators do not have these parameters.
  EXPECT_THAT(error_of([&] {
                on("hopper", operation("softmax", {{"x", x}}, {{"order", std::string("lanes")}}));
              }),
              testing::HasSubstr("order is 'lanes'"));
}

TEST(ReduceTest, TolerancesFollowTheOrder) {
  const Tensor x = values("float16", std::vector<double>(256, -1.0));
  const double u = 0x1p-11;
  for (const auto& [order, steps] :
       {std::pair("sequential", 255.0), {"pairwise", 8.0}, {"ascend910b_first_n", 8.0}}) {
    const DerivedTolerance t = derived_tolerance(reduction("reduce_sum", x, 0, order));
    EXPECT_EQ(t.rtol, 0) << order;
    EXPECT_NEAR(t.atol, (std::pow(1 + u, steps) - 1) * 256, 1e-9) << order;
  }
  // Without `order`, the tolerance holds for any order. There is a bound even if the roundings
  // leave no digit.
  const Tensor ones = values("float16", std::vector<double>(1200, 1.0));
  Case any = reduction("reduce_sum", ones, 0, "sequential");
  EXPECT_NEAR(derived_tolerance(any).atol, (std::pow(1 + u, 1199) - 1) * 1200, 1e-6);
  any.attributes.erase("order");
  EXPECT_EQ(derived_tolerance(any).atol, 1199 * u * 1200);
  EXPECT_EQ(derived_tolerance(any).why,
            "atol: h u sum |x| with h = 1199 roundings of sums in any order (sum at most 1200)");
}

}  // namespace
}  // namespace assay
