#include "assay/identify/sum_order_space.h"

#include <algorithm>

#include "assay/base/text.h"
#include "assay/op/order.h"

namespace assay::inline v0_2::identify {
namespace {

// Mixes the bits of a number: SplitMix64's finaliser (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t v) {
  v += 0x9e3779b97f4a7c15u;
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9u;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebu;
  return v ^ (v >> 31);
}

constexpr MeetOrder kMeets[] = {MeetOrder::kDescending, MeetOrder::kAscending,
                                MeetOrder::kSequential};

// Calls use(stage) for every way to join the sums of a stage's lanes, also in groups (warps) of at
// least `least` lanes.
template <typename Use>
void each_lane_order(SumStage stage, std::int64_t least, const Use& use) {
  for (const MeetOrder order : kMeets) {
    if (stage.lanes <= 2 && order != kMeets[0]) break;
    stage.lane_order = order;
    stage.warp = 0;
    stage.warps_first = false;
    use(stage);
    for (std::int64_t warp = least; warp < stage.lanes; warp *= 2) {
      stage.warp = warp;
      for (const bool first : {false, true}) {
        // Skips a stage that equals descending offsets over all lanes.
        if (first && order == MeetOrder::kDescending) continue;
        stage.warps_first = first;
        use(stage);
      }
    }
  }
}

// Calls use(stage) for every order in which the stage's accumulators may be joined.
template <typename Use>
void each_accumulator_order(SumStage stage, const Use& use) {
  for (const MeetOrder order :
       {MeetOrder::kSequential, MeetOrder::kAscending, MeetOrder::kDescending}) {
    if (stage.accumulators <= 2 && order != MeetOrder::kSequential) break;
    stage.accumulator_order = order;
    use(stage);
  }
}

// Calls use(stage) for every treatment of the elements that rounds leave over: either the lanes
// take all elements, or there are whole rounds and a tail.
template <typename Use>
void each_tail(SumStage stage, std::int64_t n, const Use& use) {
  use(stage);
  const std::int64_t all = stage.lanes * stage.vector * stage.accumulators;
  if (stage.lanes > 32 || stage.lanes == 1) return;
  std::vector<std::int64_t> rounds = {all};
  for (const std::int64_t round : {stage.lanes * stage.vector, std::int64_t{256}}) {
    if (round % (stage.lanes * stage.vector) == 0 && round != all) rounds.push_back(round);
  }
  for (const std::int64_t round : rounds) {
    if (n % round == 0) continue;
    stage.round = round;
    for (std::int64_t lanes = 1; lanes <= stage.lanes; lanes *= 2) {
      for (std::int64_t accumulators = 1; accumulators <= stage.accumulators; accumulators *= 2) {
        if (lanes == 1 && accumulators > 1) break;
        stage.tail_lanes = lanes;
        stage.tail_accumulators = accumulators;
        use(stage);
      }
    }
  }
}

void add_whole(std::int64_t n, std::vector<SumStage>& to) {
  const auto push = [&](const SumStage& stage) { to.push_back(stage); };
  for (std::int64_t lanes = 2; lanes <= 1024 && lanes < 2 * n; lanes *= 2) {
    for (std::int64_t vector = 1; vector <= 16 && lanes * vector < 2 * n; vector *= 2) {
      for (std::int64_t accumulators = 1; accumulators <= 16; accumulators *= 2) {
        // If each lane takes elements only once, it cannot use more than `vector` accumulators.
        if (lanes * vector >= n && accumulators > vector) break;
        SumStage stage{.family = SumFamily::kLanes};
        stage.lanes = lanes;
        stage.vector = vector;
        stage.accumulators = accumulators;
        each_accumulator_order(stage, [&](const SumStage& s) {
          each_lane_order(s, 4, [&](const SumStage& t) {
            if (vector == 1)
              each_tail(t, n, push);
            else
              push(t);
          });
        });
      }
    }
  }
  // Adds stages of one lane, whose accumulators take the elements in turn.
  for (std::int64_t accumulators = 2; accumulators <= 64; accumulators *= 2) {
    SumStage stage{.family = SumFamily::kLanes};
    stage.accumulators = accumulators;
    each_accumulator_order(stage, push);
  }
  for (std::int64_t leaf = 8; leaf < n; leaf *= 2) {
    for (std::int64_t lanes = 1; lanes <= 32 && lanes <= leaf; lanes *= 2) {
      for (std::int64_t accumulators = 1; accumulators * lanes <= std::min<std::int64_t>(leaf, 64);
           accumulators *= 2) {
        SumStage stage{.family = SumFamily::kHalves};
        stage.lanes = lanes;
        stage.accumulators = accumulators;
        stage.leaf = leaf;
        each_accumulator_order(stage, [&](const SumStage& s) {
          each_lane_order(s, 4, [&](SumStage t) {
            push(t);
            t.round = lanes * accumulators;
            push(t);
          });
        });
      }
    }
  }
}

void add_lanes(std::int64_t lanes, std::int64_t vector, std::int64_t accumulators,
               std::vector<SumStage>& to) {
  SumStage stage{.family = SumFamily::kLanes};
  stage.lanes = lanes;
  stage.vector = vector;
  stage.accumulators = accumulators;
  for (const MeetOrder order : kMeets) {
    stage.lane_order = order;
    stage.warp = 0;
    to.push_back(stage);
    if (lanes <= 2) break;
    if (lanes <= 32 || order == MeetOrder::kSequential) continue;
    stage.warp = 32;
    stage.warps_first = order == MeetOrder::kAscending;
    to.push_back(stage);
    stage.warps_first = false;
    if (order == MeetOrder::kAscending) to.push_back(stage);
  }
}

}  // namespace

std::map<std::string, Attribute> sum_order_parameters(const SumOrderModel& model) {
  std::map<std::string, Attribute> parameters = plan_attributes(model.plan);
  parameters["sum_dtype"] = std::string(model.sums->name);
  if (model.plan.block > 0) parameters["second_dtype"] = std::string(model.second->name);
  return parameters;
}

std::string sum_order_text(const SumOrderModel& model) {
  std::vector<std::string> words;
  for (const auto& [name, value] : sum_order_parameters(model)) {
    words.push_back(name + "=" + attribute_text(value));
  }
  return joined(words, " ");
}

std::uint64_t sum_order_tree(const SumOrderModel& model, std::int64_t n) {
  std::vector<std::uint64_t> nodes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = mixed(i + 1);
  const SumSchedule schedule(model.plan, n);
  const auto add = [&](const std::vector<Additions>& all, const Format& sums) {
    const std::uint64_t format = mixed(static_cast<std::uint64_t>(sums.precision) << 8);
    for (const Additions& a : all) {
      for (std::int64_t i = 0; i < a.count; ++i) {
        std::uint64_t& to = nodes[static_cast<std::size_t>(a.to + i)];
        to = mixed(mixed(to) + mixed(nodes[static_cast<std::size_t>(a.from + i)]) + format);
      }
    }
  };
  add(schedule.first_stage(), *model.sums);
  add(schedule.second_stage(), *model.second);
  return n == 0 ? 0 : nodes[0];
}

SumOrderSpace::SumOrderSpace(std::int64_t n) {
  whole = {{.family = SumFamily::kSequential}, {.family = SumFamily::kPairwise}};
  add_whole(n, whole);
  for (std::int64_t block = 16; block < n && block <= 16384; block *= 2) blocks.push_back(block);
  in_block = second = {{.family = SumFamily::kPairwise}};
  for (std::int64_t lanes = 1; lanes <= 1024; lanes *= 2) {
    for (const std::int64_t vector : {1, 2, 4, 8}) {
      for (const std::int64_t accumulators : {1, 2, 4, 8}) {
        add_lanes(lanes, vector, accumulators, in_block);
        if (vector == 1 || vector == 4) add_lanes(lanes, vector, accumulators, second);
      }
    }
  }
}

}  // namespace assay::identify
