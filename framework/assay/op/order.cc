#include "assay/op/order.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {
namespace {

constexpr Word<ReduceOrder> kOrders[] = {
    {"pairwise", ReduceOrder::kPairwise},
    {"sequential", ReduceOrder::kSequential},
    {"block", ReduceOrder::kBlock},
    {"ascend910b_first_n", ReduceOrder::kFirstN},
    {"ascend910b_high_dim", ReduceOrder::kHighDim},
};
// The words for the orders that only reductions have. They select a SumPlan.
constexpr std::string_view kLanes = "lanes", kHalves = "halves";

constexpr Word<MeetOrder> kMeets[] = {{"descending", MeetOrder::kDescending},
                                      {"ascending", MeetOrder::kAscending},
                                      {"sequential", MeetOrder::kSequential}};

constexpr Word<SumFamily> kSeconds[] = {{"sequential", SumFamily::kSequential},
                                        {"pairwise", SumFamily::kPairwise},
                                        {kLanes, SumFamily::kLanes}};

// A field of a SumStage that an operator's parameter of this name sets. The field is a number, an
// order in which sums are joined, or a flag; the other two pointers are null.
struct StageField {
  const char* name;
  std::int64_t SumStage::*number;
  MeetOrder SumStage::*order;
  bool SumStage::*flag;
  std::int64_t least, most;
  bool in_second;
  const char* words;
};
constexpr std::int64_t kMost = std::int64_t{1} << 40, kMostLanes = 1 << 16, kMostSums = 64;
constexpr StageField kFields[] = {
    {"lanes", &SumStage::lanes, nullptr, nullptr, 1, kMostLanes, true,
     "number of partial sums that are built side by side, such as the threads of a block or the "
     "elements of a register"},
    {"vector", &SumStage::vector, nullptr, nullptr, 1, kMostLanes, true,
     "number of consecutive elements that a lane takes at a time"},
    {"accumulators", &SumStage::accumulators, nullptr, nullptr, 1, kMostSums, true,
     "number of partial sums of a lane, which take its elements in turn"},
    {"accumulator_order", nullptr, &SumStage::accumulator_order, nullptr, 0, 0, true,
     "order in which the accumulators of a lane are added"},
    {"lane_order", nullptr, &SumStage::lane_order, nullptr, 0, 0, true,
     "order in which lanes are added: by shuffles of descending offsets, of ascending offsets, or "
     "one by one"},
    {"warp", &SumStage::warp, nullptr, nullptr, 0, kMostLanes, true,
     "number of lanes of a group, whose sums are added by descending offsets. 0 means that all "
     "lanes are one group"},
    {"warps_first", nullptr, nullptr, &SumStage::warps_first, 0, 0, true,
     "whether lanes of the same number in all groups are added first, and the lanes of a group "
     "afterwards"},
    {"round", &SumStage::round, nullptr, nullptr, 0, kMost, false,
     "number of elements that lanes take in whole rounds. The elements that are left over are "
     "added last. 0 means that all elements are taken in rounds"},
    {"tail_lanes", &SumStage::tail_lanes, nullptr, nullptr, 1, kMostLanes, false,
     "number of lanes for the elements that a round leaves over. Elements that do not fill these "
     "lanes are added one by one"},
    {"tail_accumulators", &SumStage::tail_accumulators, nullptr, nullptr, 1, kMostSums, false,
     "number of partial sums of each of these lanes"},
};
const SumStage kDefaultStage{.family = SumFamily::kLanes};

// Returns the name of the row that has this value.
template <typename Rows, typename Value>
std::string name_in(const Rows& rows, const Value& value) {
  return std::string(find_row(rows, value, [](const auto& row) { return row.value; })->name);
}

std::string second_name(const char* field) { return std::string("second_") + field; }

// Returns the value of a stage's field, as an attribute stores it.
Attribute field_value(const StageField& field, const SumStage& stage) {
  if (field.number != nullptr) return stage.*field.number;
  if (field.flag != nullptr) return std::int64_t{stage.*field.flag ? 1 : 0};
  return name_in(kMeets, stage.*field.order);
}

Parameter field_parameter(const StageField& field, const std::string& name, std::string words) {
  Parameter row{.name = name, .words = std::move(words)};
  row.default_value = attribute_text(field_value(field, kDefaultStage));
  if (field.number != nullptr) {
    row.kind = ParameterKind::kInteger;
    row.least = static_cast<double>(field.least);
    row.most = static_cast<double>(field.most);
  } else if (field.order != nullptr) {
    row.kind = ParameterKind::kWord;
    row.choices = names_of(kMeets);
  }
  return row;
}

// Sets each field of the stage whose attribute the case has. The attribute has the field's name,
// for the second stage with the prefix "second_". Throws if the values do not go together.
void read_stage(const Case& c, bool second, SumStage& stage) {
  for (const StageField& field : kFields) {
    const std::string name = second ? second_name(field.name) : field.name;
    if (c.attributes.count(name) == 0) continue;
    if (field.number != nullptr) {
      stage.*field.number = integer_of(c, name);
    } else if (field.flag != nullptr) {
      stage.*field.flag = flag_of(c, name);
    } else {
      stage.*field.order = row_named(name, kMeets, word_of(c, name)).value;
    }
  }
  if (stage.warp > 0 && stage.lanes % stage.warp != 0) {
    const char* prefix = second ? "second_" : "";
    refuse_case(c.name, "{}warp is {}, which does not divide {}lanes, {}", prefix, stage.warp,
                prefix, stage.lanes);
  }
}

// Returns the name of the parameter for the first field that the case sets to a value other than
// its default. Empty if all fields have their default.
std::string given_field(const Case& c, bool second) {
  SumStage stage = kDefaultStage;
  stage.lanes = 0;  // the parameter `lanes` has no default
  const SumStage unchanged = stage;
  read_stage(c, second, stage);
  for (const StageField& field : kFields) {
    if (field_value(field, stage) == field_value(field, unchanged)) continue;
    return second ? second_name(field.name) : field.name;
  }
  return "";
}

// Returns the plan of a case whose order is lanes or halves, or whose blocks have a second stage.
// Returns nothing if the case has an order of kOrders without changes.
std::optional<SumPlan> asked_plan(const Case& c, const std::string& order,
                                  std::optional<std::int64_t> size) {
  SumPlan plan;
  const bool lanes = order == kLanes, halves = order == kHalves;
  if (lanes || halves) {
    plan.first.family = lanes ? SumFamily::kLanes : SumFamily::kHalves;
    if (c.attributes.count("lanes") == 0) {
      refuse_case(c.name, "the order {} needs the parameter lanes, which is at least 1", order);
    }
    if (halves && !size) {
      refuse_case(c.name, "the order halves needs the parameter block_size, which is at least 1");
    }
    read_stage(c, false, plan.first);
  } else if (const std::string name = given_field(c, false); !name.empty()) {
    refuse_case(
        c.name,
        "{} is only for the orders lanes and halves; leave it out, or set order to one of these",
        name);
  }
  if (halves)
    plan.first.leaf = *size;
  else
    plan.block = size.value_or(0);
  const std::string second = word_of(c, "second_order"), field = given_field(c, true);
  const bool another = second != kSeconds[0].name, in_another = c.text("second_dtype").has_value();
  const std::string given = another          ? "second_order"
                            : !field.empty() ? field
                            : in_another     ? "second_dtype"
                                             : "";
  if (!given.empty() && plan.block == 0) {
    refuse_case(c.name,
                "{} is given without block_size, but it adds the sums of blocks; give block_size "
                "with the order block or lanes, or leave it out",
                given);
  }
  plan.second.family = row_named("second_order", kSeconds, second).value;
  const bool second_lanes = plan.second.family == SumFamily::kLanes;
  if (!field.empty() && !second_lanes) {
    refuse_case(c.name,
                "{} is only for the second_order lanes; leave it out, or set second_order to lanes",
                field);
  }
  if (second_lanes) {
    if (c.attributes.count("second_lanes") == 0) {
      refuse_case(c.name,
                  "the second_order lanes needs the parameter second_lanes, which is at least 1");
    }
    read_stage(c, true, plan.second);
  }
  if (!lanes && !halves && !another && !in_another) return std::nullopt;
  return plan;
}

bool by_repeat(ReduceOrder order) {
  return order == ReduceOrder::kFirstN || order == ReduceOrder::kHighDim;
}

std::int64_t tree_depth(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

// Counts the roundings on the longest path from a term to the sum: those in the tree of a chunk,
// and those in the sum of the chunks.
void count_roundings(ReduceOrder order, std::int64_t chunk, std::int64_t n, SumRoundings& r) {
  const std::int64_t chunks = n == 0 ? 1 : (n + chunk - 1) / chunk;
  switch (order) {
    case ReduceOrder::kSequential:
      r.steps = std::max<std::int64_t>(n - 1, 0);
      break;
    case ReduceOrder::kPairwise:
      r.steps = tree_depth(n);
      break;
    case ReduceOrder::kBlock:
      r.steps = tree_depth(std::min(chunk, n));
      r.wide = chunks - 1;
      break;
    case ReduceOrder::kFirstN:
      r.steps = tree_depth(std::min(chunk, n)) + chunks - 1;
      break;
    case ReduceOrder::kHighDim:
      r.steps = tree_depth(std::min(chunk, n)) + tree_depth(chunks);
      break;
  }
}

}  // namespace

std::vector<Parameter> order_parameters(std::vector<Parameter> own) {
  own.push_back(word_parameter("order", names_of(kOrders), "order in which sums are added"));
  own.push_back(
      {.name = "block_size",
       .kind = ParameterKind::kInteger,
       .least = 1,
       .words = "number of elements of a block. Only the order block takes it, and needs it"});
  return own;
}

std::vector<Parameter> plan_parameters(std::vector<Parameter> own) {
  own = order_parameters(std::move(own));
  Parameter& order = own[own.size() - 2];
  order.choices.insert(order.choices.end(), {std::string(kLanes), std::string(kHalves)});
  own.back().words =
      "number of elements of a block. The order block needs it, and lanes may have it. For halves, "
      "it is the largest number of elements that are summed without another cut. No other order "
      "takes it";
  for (const StageField& field : kFields) {
    own.push_back(field_parameter(field, field.name, field.words));
  }
  Parameter& lanes = *std::ranges::find(own, "lanes", &Parameter::name);
  lanes.default_value.clear();
  lanes.words +=
      ". Only the orders lanes and halves take it and the parameters below, and they need it";
  own.push_back(dtype_parameter("sum_dtype",
                                "dtype of partial sums: float16, bfloat16, float32 or float64. If "
                                "it is not given, it is that of the machine's unit"));
  own.push_back(word_parameter("second_order", names_of(kSeconds),
                               "order in which the sums of blocks are added"));
  own.push_back({.name = "second_dtype",
                 .kind = ParameterKind::kDtype,
                 .words = "dtype in which the sums of blocks are added. If it is not given, it is "
                          "float32, or float64 for float64 sums"});
  for (const StageField& field : kFields) {
    if (!field.in_second) continue;
    own.push_back(field_parameter(field, second_name(field.name),
                                  formatted("as {}, for the sums of blocks", field.name)));
    if (field.name == std::string_view("lanes")) {
      own.back().default_value.clear();
      own.back().words +=
          ". Only the second_order lanes takes it and the parameters below, and needs it";
    }
  }
  return own;
}

std::map<std::string, Attribute> plan_attributes(const SumPlan& plan) {
  std::map<std::string, Attribute> to;
  const auto write = [&](const SumStage& stage, bool second) {
    for (const StageField& field : kFields) {
      const Attribute value = field_value(field, stage);
      const bool needed = field.number == &SumStage::lanes;
      if (!needed && value == field_value(field, kDefaultStage)) continue;
      to[second ? second_name(field.name) : field.name] = value;
    }
  };
  const SumFamily family = plan.first.family;
  const bool lanes = family == SumFamily::kLanes, halves = family == SumFamily::kHalves;
  const bool blocks = plan.block > 0;
  to["order"] = std::string(lanes                              ? kLanes
                            : halves                           ? kHalves
                            : family == SumFamily::kSequential ? "sequential"
                            : blocks                           ? "block"
                                                               : "pairwise");
  if (lanes || halves) write(plan.first, false);
  if (halves) to["block_size"] = plan.first.leaf;
  if (!blocks) return to;
  to["block_size"] = plan.block;
  to["second_order"] = name_in(kSeconds, plan.second.family);
  if (plan.second.family == SumFamily::kLanes) write(plan.second, true);
  return to;
}

SumOrder asked_order(const Case& c) {
  const std::string word = word_of(c, "order");
  const auto size = c.integer("block_size");
  const Operator* op = find_operator(c.op);
  if (op != nullptr && find_parameter(*op, "lanes") != nullptr) {
    if (const auto plan = asked_plan(c, word, size)) {
      const bool blocks = plan->block > 0;
      SumOrder order{blocks ? ReduceOrder::kBlock : ReduceOrder::kPairwise, "", 1, plan};
      order.name = word == kLanes ? kLanes : word == kHalves ? kHalves : "block";
      if (blocks) order.chunk = plan->block;
      order.second = sums_format(c, "second_dtype");
      return order;
    }
  }
  const auto& row = row_named("order", kOrders, word);
  if (row.value == ReduceOrder::kBlock ? !size : size.has_value()) {
    refuse_case(c.name, row.value == ReduceOrder::kBlock
                            ? "the order block needs the parameter block_size, which is at least 1"
                            : "block_size is only for the orders block, lanes and halves; leave it "
                              "out, or set order to one of these");
  }
  return {row.value, row.name, size.value_or(1)};
}

VectorArithmetic SumOrder::last(const VectorArithmetic& unit) const {
  if (!has_blocks()) return unit;
  VectorArithmetic wide = block_arithmetic(unit);
  if (second != nullptr) wide.format = second;
  return wide;
}

const Format& last_format(const Case& c, const SumOrder& order, const Format& unit) {
  const Format& last = *order.last({&unit}).format;
  if (last.precision < unit.precision || last.exponent_bits < unit.exponent_bits) {
    refuse_case(c.name, "second_dtype is {}, which cannot hold the {} sums of blocks", last.name,
                unit.name);
  }
  return last;
}

SumOrder sum_order(const Call& call, const Format& input) {
  const Case& c = call.test_case;
  SumOrder order = asked_order(c);
  if (!by_repeat(order.order)) return order;
  const VectorModel& model = vector_model(call.machine);
  order.chunk = vector_format(model, compute_format(c, input)).repeat.value;
  if (order.chunk == 0) {
    refuse_case(c.name,
                "the machine {} has no repeats, so that it has no order {}; choose another order",
                call.machine.name, order.name);
  }
  return order;
}

LargestSums largest_sums(const SumOrder& order, const std::vector<double>& sizes) {
  LargestSums sums;
  double block = 0;
  const auto length = static_cast<std::size_t>(order.chunk);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (order.order == ReduceOrder::kBlock && i % length == 0) block = 0;
    block += sizes[i];
    sums.unit = std::max(sums.unit, block);
    sums.total += sizes[i];
  }
  return sums;
}

namespace {

// Returns (1 + x)^n - 1 by squaring. A logarithm is not used, because its last bit differs between
// C libraries. `x` is above -1. The relative error is below 2^-45 for n below 2^40.
double growth(double x, std::int64_t n) {
  const auto both = [](double a, double b) { return a + b + a * b; };
  double power = x, all = 0;
  for (; n > 0; n /= 2) {
    if (n % 2 != 0) all = both(all, power);
    power = both(power, power);
  }
  return all;
}

}  // namespace

double SumRoundings::factor() const {
  if (any_order) return static_cast<double>(steps) * u;
  const double first = growth(u, steps), second = growth(wide_u, wide);
  return (first + second + first * second) * (1 + 0x1p-45);
}

double SumRoundings::loss() const {
  const double first = growth(-u, steps), second = growth(-wide_u, wide);
  return std::min(-(first + second + first * second) * (1 + 0x1p-45), 1 - 0x1p-52);
}

std::string SumRoundings::formula() const {
  return any_order ? "h u sum |x|" : "((1 + u)^h - 1) sum |x|";
}

SumRoundings sum_roundings(const Case& c, std::int64_t n, const Format& input,
                           const RoundoffBounds& bounds) {
  const SumOrder order = asked_order(c);
  const Format& unit = unit_format(c, input);
  SumRoundings r{.u = bounds.unit,
                 .wide_u = std::min(bounds.unit, unit_roundoff(last_format(c, order, unit)))};
  if (order.plan) {
    const SumSchedule::Depth depth = SumSchedule(*order.plan, n).depth();
    r.steps = depth.first;
    r.wide = depth.second;
  } else if (c.attributes.count("order") == 0) {
    r.any_order = true;
    r.steps = std::max<std::int64_t>(n - 1, 0);
  } else {
    std::int64_t chunk = order.chunk;
    if (by_repeat(order.order)) chunk = compute_format(c, input).name == "float16" ? 128 : 64;
    count_roundings(order.order, chunk, n, r);
  }
  return r;
}

}  // namespace assay
