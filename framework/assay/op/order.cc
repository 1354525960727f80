#include "assay/op/order.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/text.h"

namespace assay {
namespace {

struct OrderName {
  std::string_view name;
  ReduceOrder order;
};
constexpr OrderName kOrders[] = {
    {"pairwise", ReduceOrder::kPairwise},
    {"sequential", ReduceOrder::kSequential},
    {"block", ReduceOrder::kBlock},
    {"ascend910b_first_n", ReduceOrder::kFirstN},
    {"ascend910b_high_dim", ReduceOrder::kHighDim},
};

const OrderName& order_named(const Case& c) {
  const std::string word = word_of(c, "order");
  return *std::find_if(std::begin(kOrders), std::end(kOrders),
                       [&](const OrderName& row) { return row.name == word; });
}

bool by_repeat(ReduceOrder order) {
  return order == ReduceOrder::kFirstN || order == ReduceOrder::kHighDim;
}

std::int64_t tree_depth(std::int64_t n) {
  return n <= 1 ? 0 : static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(n - 1)));
}

}  // namespace

std::vector<Parameter> order_parameters(std::vector<Parameter> own) {
  std::vector<std::string> names;
  for (const OrderName& row : kOrders) names.emplace_back(row.name);
  own.push_back({.name = "order",
                 .kind = ParameterKind::kWord,
                 .otherwise = names.front(),
                 .choices = names,
                 .words = "in which sums are added"});
  own.push_back({.name = "block_size",
                 .kind = ParameterKind::kInteger,
                 .least = 1,
                 .words = "elements of a block, which the order block needs and no other takes"});
  return own;
}

SumOrder asked_order(const Case& c) {
  const OrderName& row = order_named(c);
  const auto size = c.integer("block_size");
  if (row.order == ReduceOrder::kBlock ? !size : size.has_value()) {
    throw CaseError(c.name, row.order == ReduceOrder::kBlock
                                ? "the order block needs block_size, at least 1"
                                : "block_size goes with the order block alone");
  }
  return {row.order, row.name, size.value_or(1)};
}

SumOrder sum_order(const Call& call, const Format& input) {
  const Case& c = call.test_case;
  SumOrder order = asked_order(c);
  if (!by_repeat(order.order)) return order;
  const VectorModel& model = vector_model(call.machine);
  order.chunk = vector_format(model, compute_format(c, input)).repeat.value;
  if (order.chunk == 0) {
    throw CaseError(c.name,
                    format("{} has no repeats, so no order {}", call.machine.name, order.name));
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

SumRoundings sum_roundings(const Case& c, std::int64_t n, const Format& input,
                           const RoundoffBounds& bounds) {
  const SumOrder order = asked_order(c);
  std::int64_t chunk = order.chunk;
  if (by_repeat(order.order)) chunk = unit_format(c, input).name == "float16" ? 128 : 64;
  const std::int64_t chunks = n == 0 ? 1 : (n + chunk - 1) / chunk;
  SumRoundings r;
  switch (order.order) {
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
  const double block = std::min(bounds.unit, unit_roundoff(format_named("float32")));
  r.total = static_cast<double>(r.steps) * bounds.unit + static_cast<double>(r.wide) * block;
  if (r.total >= 0.5) {
    throw CaseError(c.name,
                    format("no tolerance can be derived: {} roundings of a {} sum leave no digit",
                           r.steps + r.wide, input.name));
  }
  return r;
}

}  // namespace assay
