// Tests sums by lanes, halves and two stages: their schedules against the scalar oracle, and their
// trees by hand.
#include "assay/machine/sum_plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/simd/targets.h"
#include "sum_oracles.h"
#include "vector_inputs.h"

namespace assay {
namespace {

using vectors::all_units;
using vectors::same;
using vectors::summands;
using vectors::text_of;
using vectors::unit_of;

SumStage lanes(std::int64_t count, std::int64_t vector = 1, std::int64_t accumulators = 1) {
  return {
      .family = SumFamily::kLanes, .lanes = count, .vector = vector, .accumulators = accumulators};
}

// Returns a random stage of any family.
SumStage any_stage(Random& random) {
  const auto draw = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(1 + random.below(most));
  };
  const SumFamily families[] = {SumFamily::kSequential, SumFamily::kPairwise, SumFamily::kLanes,
                                SumFamily::kLanes, SumFamily::kHalves};
  const MeetOrder meets[] = {MeetOrder::kDescending, MeetOrder::kAscending, MeetOrder::kSequential};
  SumStage s = lanes(draw(20), draw(4), draw(5));
  s.family = families[random.below(5)];
  s.accumulator_order = meets[random.below(3)];
  s.lane_order = meets[random.below(3)];
  if (random.below(2) != 0) {
    s.warp = draw(6);
    s.lanes = s.warp * draw(5);
    s.warps_first = random.below(2) != 0;
  }
  if (random.below(2) != 0) {
    s.round = draw(40);
    s.tail_lanes = draw(4);
    s.tail_accumulators = draw(3);
  }
  s.leaf = draw(50);
  return s;
}

std::string plan_text(const SumPlan& plan) {
  const auto text = [](const SumStage& s) {
    return formatted(
        "family {} lanes {} vector {} accumulators {} orders {} {} warp {} first {} round {} "
        "tail {} {} leaf {}",
        static_cast<int>(s.family), s.lanes, s.vector, s.accumulators,
        static_cast<int>(s.accumulator_order), static_cast<int>(s.lane_order), s.warp,
        s.warps_first, s.round, s.tail_lanes, s.tail_accumulators, s.leaf);
  };
  return formatted("{}, block {}, {}", text(plan.first), plan.block, text(plan.second));
}

template <typename T>
void expect_oracle(const VectorArithmetic& unit, const VectorArithmetic& second,
                   const SumPlan& plan, std::int64_t n, std::int64_t w,
                   const std::vector<double>& x) {
  std::vector<T> values(x.begin(), x.end()), sums(static_cast<std::size_t>(w));
  SumSchedule(plan, n).sum(unit, second, w, values.data(), sums.data());
  for (std::int64_t j = 0; j < w; ++j) {
    const double expected = plan_oracle(unit, second, plan, n, x.data() + (n > 0 ? j : 0), w);
    ASSERT_TRUE(same(static_cast<double>(sums[static_cast<std::size_t>(j)]), expected))
        << plan_text(plan) << " n " << n << " w " << w << " " << text_of(unit);
  }
}

TEST(SumPlanTest, SchedulesAreTheOracleOfAnyPlan) {
  Random random(80, 1);
  const auto units = all_units();
  for (int trial = 0; trial < 3000; ++trial) {
    SumPlan plan{any_stage(random), 0, any_stage(random)};
    if (random.below(2) != 0) plan.block = static_cast<std::int64_t>(1 + random.below(60));
    const VectorArithmetic unit = units[random.below(units.size())];
    VectorArithmetic second = unit;
    if (!unit.format->is_float64() && random.below(2) != 0)
      second.format = &format_named("float32");
    const auto n = static_cast<std::int64_t>(random.below(trial % 10 == 0 ? 700 : 70));
    const std::int64_t w = trial % 3 == 0 ? 5 : 1;
    const auto x = summands(*unit.format, static_cast<std::size_t>(n * w), random.below(6),
                            static_cast<std::uint64_t>(trial));
    expect_oracle<double>(unit, second, plan, n, w, x);
    if (fits_float32(unit) && fits_float32(second)) {
      expect_oracle<float>(unit, second, plan, n, w, x);
    }
  }
}

TEST(SumPlanTest, TargetsDoNotMatter) {
  Random random(80, 2);
  const VectorArithmetic half = unit_of("float16"), wide = unit_of("float32");
  for (const std::string& target : simd::available_targets()) {
    simd::force_target(target);
    for (int trial = 0; trial < 20; ++trial) {
      const SumPlan plan{any_stage(random), 64, any_stage(random)};
      expect_oracle<float>(half, wide, plan, 300, 9,
                           summands(*half.format, 2700, 1, static_cast<std::uint64_t>(trial)));
    }
    simd::force_target("");
  }
}

// The orders that machine/vector.h has are plans, too.
TEST(SumPlanTest, OrdersOfTheUnitArePlans) {
  const VectorArithmetic half = unit_of("float16"), wide = unit_of("float32");
  const SumStage sequential{.family = SumFamily::kSequential}, pairwise{};
  for (std::uint64_t stream = 0; stream < 200; ++stream) {
    const auto n = static_cast<std::int64_t>(1 + stream);
    const auto x = summands(*half.format, static_cast<std::size_t>(n), 1, stream);
    const auto is = [&](const SumPlan& plan, const VectorArithmetic& second, ReduceOrder order) {
      EXPECT_TRUE(same(plan_oracle(half, second, plan, n, x.data()),
                       reduce_oracle(half, order, 24, n, x.data())))
          << n << " " << static_cast<int>(order);
    };
    is({sequential}, half, ReduceOrder::kSequential);
    is({pairwise}, half, ReduceOrder::kPairwise);
    is({pairwise, 24, sequential}, wide, ReduceOrder::kBlock);
    is({pairwise, 24, sequential}, half, ReduceOrder::kFirstN);
    is({pairwise, 24, pairwise}, half, ReduceOrder::kHighDim);
  }
}

// Additions as text: "0+4 1+5 0+1".
std::string additions(const SumPlan& plan, std::int64_t n) {
  std::string text;
  const SumSchedule schedule(plan, n);
  for (const auto* stage : {&schedule.first_stage(), &schedule.second_stage()}) {
    for (const Additions& a : *stage) {
      for (std::int64_t i = 0; i < a.count; ++i) text += formatted("{}+{} ", a.to + i, a.from + i);
    }
  }
  if (!text.empty()) text.pop_back();
  return text;
}

TEST(SumPlanTest, TreesByHand) {
  EXPECT_EQ(additions({lanes(4)}, 4), "0+2 1+3 0+1");
  SumStage s = lanes(4);
  s.lane_order = MeetOrder::kAscending;
  EXPECT_EQ(additions({s}, 4), "0+1 2+3 0+2");
  s.lane_order = MeetOrder::kSequential;
  EXPECT_EQ(additions({s}, 4), "0+1 0+2 0+3");
  // Two lanes that take two elements at a time: 0 1 4 5 and 2 3 6 7.
  EXPECT_EQ(additions({lanes(2, 2)}, 8), "0+1 2+3 0+4 0+5 2+6 2+7 0+2");
  // With two accumulators each, the first lane adds 0 4 and 1 5, and the second lane 2 6 and 3 7.
  EXPECT_EQ(additions({lanes(2, 2, 2)}, 8), "0+4 1+5 2+6 3+7 0+1 2+3 0+2");
  // One lane of two accumulators: the even elements, and the odd ones.
  EXPECT_EQ(additions({lanes(1, 1, 2)}, 5), "0+2 1+3 0+4 0+1");
  // Two groups of two lanes.
  s = lanes(4);
  s.warp = 2;
  EXPECT_EQ(additions({s}, 4), "0+1 2+3 0+2");
  s.warps_first = true;
  EXPECT_EQ(additions({s}, 4), "0+2 1+3 0+1");
  // Lanes without an element add nothing.
  EXPECT_EQ(additions({lanes(64)}, 3), "0+2 0+1");
  // Lanes add only whole rounds, and the other elements are added one by one. With `tail_lanes`,
  // fewer lanes first add as much of the rest as they can.
  s = lanes(4);
  s.round = 4;
  EXPECT_EQ(additions({s}, 7), "0+2 1+3 0+1 0+4 0+5 0+6");
  s.tail_lanes = 2;
  EXPECT_EQ(additions({s}, 7), "0+2 1+3 0+1 4+5 0+4 0+6");
  EXPECT_EQ(additions({s}, 3), "0+1 0+2");
  // Halves are cut at whole rounds: 0 1 and 2 3 4 5 6, and the second half is 2 3 and 4 5 6.
  s = lanes(2);
  s.family = SumFamily::kHalves;
  s.round = 2;
  s.leaf = 4;
  EXPECT_EQ(additions({s}, 7), "0+1 2+3 4+5 4+6 2+4 0+2");
  // Two stages.
  EXPECT_EQ(additions({lanes(2), 2, lanes(2)}, 7), "0+1 2+3 4+5 0+4 2+6 0+2");
  EXPECT_EQ(additions({lanes(2), 2, lanes(2)}, 0), "");
}

TEST(SumPlanTest, DepthIsTheLongestPath) {
  const auto depth = [](const SumPlan& plan, std::int64_t n) {
    const SumSchedule::Depth d = SumSchedule(plan, n).depth();
    return std::pair(d.first, d.second);
  };
  EXPECT_EQ(depth({{.family = SumFamily::kSequential}}, 100),
            std::pair(std::int64_t{99}, std::int64_t{0}));
  EXPECT_EQ(depth({{}}, 100), std::pair(std::int64_t{7}, std::int64_t{0}));
  // 32 lanes have 4 accumulators of 8 elements each: 7 additions in an accumulator, then 3, then 5,
  // which is a depth of 15.
  EXPECT_EQ(depth({lanes(32, 4, 4)}, 1024), std::pair(std::int64_t{15}, std::int64_t{0}));
  EXPECT_EQ(depth({lanes(64), 64, lanes(32, 4, 4)}, 65536),
            std::pair(std::int64_t{6}, std::int64_t{15}));
  EXPECT_EQ(depth({lanes(8)}, 1), std::pair(std::int64_t{0}, std::int64_t{0}));
}

// Neighbouring additions are one entry, which a unit does at once. Additions that depend on each
// other or have the same target are separate.
TEST(SumPlanTest, NeighboursAreOneEntry) {
  const auto entries = [](const SumPlan& plan, std::int64_t n) {
    std::string text;
    const SumSchedule schedule(plan, n);
    for (const Additions& a : schedule.first_stage()) {
      text += formatted("{}+{}x{} ", a.to, a.from, a.count);
    }
    return text;
  };
  EXPECT_EQ(entries({lanes(4)}, 4), "0+2x2 0+1x1 ");
  EXPECT_EQ(entries({lanes(8)}, 8), "0+4x4 0+2x2 0+1x1 ");
  EXPECT_EQ(entries({lanes(8)}, 7), "0+4x3 0+2x2 0+1x1 ");
  EXPECT_EQ(entries({lanes(2, 2, 2)}, 8), "0+4x4 0+1x1 2+3x1 0+2x1 ");
  EXPECT_EQ(entries({lanes(1, 1, 2)}, 5), "0+2x2 0+4x1 0+1x1 ");
  EXPECT_EQ(entries({{.family = SumFamily::kSequential}}, 4), "0+1x1 0+2x1 0+3x1 ");
}

}  // namespace
}  // namespace assay
