#include "assay/op/chance_unit.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/machine/any_order.h"
#include "assay/op/sum_bound.h"
#include "assay/simd/column_sums.h"
#include "assay/simd/uncertain_sums.h"

namespace assay::inline v0_2 {
namespace {

// The theory assumes exact partial sums. The true mean error of truncated sums differs from the
// theory's mean by at most this share of that mean.
constexpr double kDriftOfMean = 0.25;

bool rounds_to_nearest_even(const DotModel& model) {
  return model.promotion_interval.value > 0 || model.rounding.value == Rounding::kNearestEven;
}

// Returns the largest power of 2 that divides a number. Returns infinity for 0, and 0 if the power
// is below float64's range.
double grid_of(double value) {
  const int lowest = Uncertain::lowest_bit(value);
  return lowest == Uncertain::kAnyGrid ? kInfinity : std::ldexp(1.0, lowest);
}

// Returns the unit that sums products of this format, in any order, if no machine is named. Its
// accumulator is that of `model`. `truncated` is the largest share of truncated sums of the known
// matrix units for the format that round toward zero.
AnyOrderUnit any_order_unit(const DotModel& model) {
  AnyOrderUnit unit(accumulator_format(model));
  for (const Machine& machine : machines()) {
    for (const DotModel& row : machine.dots) {
      if (row.input != model.input || row.rounding.value != Rounding::kTowardZero) continue;
      if (accumulator_format(row).precision != unit.precision) continue;
      unit.truncated = std::max(unit.truncated, 1.0 / row.chunk.value);
    }
  }
  return unit;
}

// Raises the expected errors of m x n sums, of k products and `start` each, to those of sums in any
// order.
void raise_to_any_order(const AnyOrderUnit& unit, std::int64_t m, std::int64_t n, std::int64_t k,
                        const std::vector<double>& a, const std::vector<double>& b,
                        const std::vector<double>& start, int threads, ExpectedErrors& errors) {
  constexpr std::int64_t kWidth = kAnyOrderColumns;
  std::vector<double> grids_a(a.size()), grids_b(b.size());
  std::ranges::transform(a, grids_a.begin(), grid_of);
  std::ranges::transform(b, grids_b.begin(), grid_of);
  const std::int64_t terms_of_one = k + (start.empty() ? 0 : 1);
  parallel_for(m, threads, [&](std::int64_t i) {
    std::vector<double> terms(static_cast<std::size_t>(terms_of_one * kWidth), 0.0);
    const double *row = a.data() + i * k, *row_grids = grids_a.data() + i * k;
    for (std::int64_t first = 0; first < n; first += kWidth) {
      const std::int64_t count = std::min(kWidth, n - first);
      double grids[kWidth], variance[kWidth], drift[kWidth];
      std::fill_n(grids, kWidth, kInfinity);
      if (count < kWidth) std::ranges::fill(terms, 0.0);
      if (count == kWidth) {
        simd::column_products(k, n, row, row_grids, b.data() + first, grids_b.data() + first,
                              terms.data(), grids);
      }
      for (std::int64_t kk = 0; count < kWidth && kk < k; ++kk) {
        for (std::int64_t w = 0; w < count; ++w) {
          const auto at = static_cast<std::size_t>(kk * n + first + w);
          terms[static_cast<std::size_t>(kk * kWidth + w)] = row[kk] * b[at];
          grids[w] = std::min(grids[w], row_grids[kk] * grids_b[at]);
        }
      }
      for (std::int64_t w = 0; !start.empty() && w < count; ++w) {
        const double value = start[static_cast<std::size_t>(first + w)];
        terms[static_cast<std::size_t>(k * kWidth + w)] = value;
        grids[w] = std::min(grids[w], grid_of(value));
      }
      any_order_errors(unit, terms_of_one, kWidth, terms.data(), grids, variance, drift);
      for (std::int64_t w = 0; w < count; ++w) {
        const auto at = static_cast<std::size_t>(i * n + first + w);
        errors.variance[at] = std::max(errors.variance[at], variance[w]);
        errors.drift[at] = std::max(errors.drift[at], drift[w]);
      }
    }
  });
}

}  // namespace

void set_error(ExpectedErrors& errors, std::size_t i, const Uncertain& value) {
  errors.mean[i] = value.mean;
  errors.variance[i] = value.variance;
}

std::vector<double> finite_or_zero(std::vector<double> values) {
  for (double& v : values) {
    if (!std::isfinite(v)) v = 0;
  }
  return values;
}

ExpectedErrors expected_sums(const Case& c, const Machine& machine, const DotModel& model,
                             const Format& output, std::int64_t m, std::int64_t n, std::int64_t k,
                             const std::vector<double>& a, const std::vector<double>& b,
                             const std::vector<double>& start, int threads) {
  const bool any = is_any_machine(machine);
  const StartOfSum starts =
      any || machine.bias_first.value ? StartOfSum::kFirst : StartOfSum::kAddedLast;
  ExpectedErrors all;
  all.resize(static_cast<std::size_t>(m * n));
  all.at_most = any;
  for (const DotModel& row : machine.dots) {
    if (row.input != model.input) continue;
    DotModel one = model;
    one.chunk = row.chunk;
    one.kept_bits = row.kept_bits;
    const bool last_is_bias = !start.empty() && starts == StartOfSum::kAddedLast;
    const Format last = last_is_bias || one.promotion_interval.value > 0 ? format_named("float32")
                                                                         : accumulator_format(one);
    const bool own_last = last.precision == output.precision && last.bits == output.bits &&
                          (last_is_bias || rounds_to_nearest_even(one));
    all.last = own_last || output.precision < last.precision ? &output : nullptr;
    // If no machine is named, skips units that do not align terms: their sums are covered by
    // float32 sums in any order. Only sums of few bits, such as those of 8-bit floats, have larger
    // errors.
    if (any && one.kept_bits.value == 0) continue;
    SumErrors sums = sum_errors(one, m, n, k, a, b, start, starts, own_last, threads);
    if (sums.flushes) {
      refuse_case(c.name, "the unit flushes subnormal numbers, which the case has");
    }
    if (!any) {
      all.mean = std::move(sums.mean);
      all.variance = std::move(sums.variance);
      std::ranges::transform(all.mean, all.drift.begin(),
                             [](double mean) { return kDriftOfMean * std::abs(mean); });
      continue;
    }
    // The unit is unknown: the mean may go either way, and the variance is that of the widest unit.
    for (std::size_t i = 0; i < sums.mean.size(); ++i) {
      all.drift[i] = std::max(all.drift[i], std::abs(sums.mean[i]));
      all.variance[i] = std::max(all.variance[i], sums.variance[i]);
    }
  }
  if (any) raise_to_any_order(any_order_unit(model), m, n, k, a, b, start, threads, all);
  return all;
}

ChanceUnit chance_unit(const Case& c, const Machine& machine, const Format& input) {
  ChanceUnit chance;
  const bool any = find_vector_model(machine) == nullptr;
  const bool flushes = (any ? subnormals_of(c) : subnormals_of(c, machine)) == Subnormals::kFlush;
  if (flushes) refuse_case(c.name, "the unit flushes subnormal numbers");
  if (any) {
    const bool wide = compute_format(c, input).is_float64();
    chance.unit = chance.after = &format_named(wide ? "float64" : "float32");
    if (const Format* sums = sums_format(c, "sum_dtype")) chance.unit = chance.after = sums;
    chance.order = {.order = ReduceOrder::kSequential, .name = "any"};
    chance.any_order = true;
    chance.fused = false;
    return chance;
  }
  const Call call{c, machine, output_format(c)};
  const VectorArithmetic unit = arithmetic_of(call, input);
  chance.unit = unit.format;
  const Operator* op = find_operator(c.op);
  if (op != nullptr && find_parameter(*op, "order") != nullptr)
    chance.order = sum_order(call, input);
  chance.after = chance.order.last(unit).format;
  chance.fused = unit.fused;
  chance.tanh_by_exp = vector_model(machine).tanh_by_exp.value;
  return chance;
}

namespace {

// Adds the terms by a plan. The rounding of the last addition, whose sum is the root, can be left
// out: by `leave_first` if it belongs to the first stage, and by `leave_second` if to the second.
Uncertain planned_sum(const SumPlan& plan, const RoundingStep& step, const RoundingStep& wide,
                      bool leave_first, bool leave_second, std::vector<Uncertain> terms) {
  if (terms.empty()) return {};
  const SumSchedule schedule(plan, static_cast<std::int64_t>(terms.size()));
  const auto add = [&](const std::vector<Additions>& all, const RoundingStep& by, bool leave_last) {
    for (const Additions& a : all) {
      for (std::int64_t i = 0; i < a.count; ++i) {
        Uncertain& to = terms[static_cast<std::size_t>(a.to + i)];
        to.add(terms[static_cast<std::size_t>(a.from + i)]);
        // The last addition is that of the root.
        if (!leave_last || &a != &all.back() || i + 1 < a.count) to.round(by);
      }
    }
  };
  add(schedule.first_stage(), step, leave_first && schedule.second_stage().empty());
  add(schedule.second_stage(), wide, leave_second);
  return terms.front();
}

}  // namespace

Uncertain ChanceUnit::sum_in_any_order(std::span<const Uncertain> terms) const {
  std::vector<double> values;
  Uncertain sum;
  sum.known = false;
  double own = 0;
  for (const Uncertain& term : terms) {
    values.push_back(term.value);
    sum.value += term.value;
    sum.mean += term.mean;
    sum.grid = std::min(sum.grid, term.value == 0 ? Uncertain::kAnyGrid : term.grid);
    own += term.variance;
  }
  const double grid = sum.grid == Uncertain::kAnyGrid ? kInfinity : std::ldexp(1.0, sum.grid);
  double variance = 0, drift = 0;
  const auto n = static_cast<std::int64_t>(values.size());
  any_order_errors(AnyOrderUnit(*unit), n, 1, values.data(), &grid, &variance, &drift);
  sum.variance = own + variance + drift * drift;
  return sum;
}

namespace {

// A block of numbers with one array for each field.
class UncertainBlock {
 public:
  static constexpr std::size_t kMost = 512;

  void set(std::span<const Uncertain> numbers) {
    n_ = numbers.size();
    for (std::size_t i = 0; i < n_; ++i) {
      const Uncertain& x = numbers[i];
      fields_[0][i] = x.value;
      fields_[1][i] = size_of_grid(x.grid);
      fields_[2][i] = x.mean;
      fields_[3][i] = x.variance;
      fields_[4][i] = x.known ? 1 : 0;
      fields_[5][i] = x.odd ? 1 : 0;
    }
  }
  void set(std::span<const double> exact) {
    n_ = exact.size();
    simd::set_exact(n_, exact.data(), arrays());
  }
  // Returns the sum of the block's numbers by pairs. `leave` leaves out the last rounding.
  Uncertain sum(const RoundingStep& step, bool leave) {
    const simd::UncertainStep by{std::ldexp(1.0, 1 - step.precision), std::ldexp(1.0, step.least)};
    for (; n_ > 1; n_ = (n_ + 1) / 2) simd::add_pairs(n_, by, !leave || n_ > 2, arrays());
    return {.value = fields_[0][0],
            .grid = std::isinf(fields_[1][0]) ? Uncertain::kAnyGrid
                    : fields_[1][0] == 0      ? -Uncertain::kAnyGrid
                                              : exponent_of(fields_[1][0]),
            .mean = fields_[2][0],
            .variance = fields_[3][0],
            .known = fields_[4][0] != 0,
            .odd = fields_[5][0] != 0};
  }

 private:
  simd::UncertainArrays arrays() {
    return {fields_[0], fields_[1], fields_[2], fields_[3], fields_[4], fields_[5]};
  }
  static double size_of_grid(int grid) {
    constexpr int kBias = 1023;
    if (grid == Uncertain::kAnyGrid) return kInfinity;
    if (grid <= -kBias || grid > kBias) return std::ldexp(1.0, grid);
    return std::bit_cast<double>(static_cast<std::uint64_t>(grid + kBias) << 52);
  }

  std::size_t n_ = 0;
  double fields_[6][kMost];
};

// Returns the sum by pairs, pairs of pairs and so on, of numbers or of exact values. `leave` leaves
// out the last rounding.
template <typename T>
Uncertain sum_by_pairs(std::span<const T> part, const RoundingStep& step, bool leave) {
  constexpr std::size_t kMost = UncertainBlock::kMost;
  if (part.empty()) return {};
  UncertainBlock block;
  // Sums of blocks of 512 terms. They are nodes of the tree by pairs, because 512 is a power of
  // two.
  std::vector<Uncertain> sums;
  for (std::size_t first = 0; first < part.size(); first += kMost) {
    const std::size_t count = std::min(kMost, part.size() - first);
    block.set(part.subspan(first, count));
    const Uncertain sum = block.sum(step, leave && count == part.size());
    if (count == part.size()) return sum;
    sums.push_back(sum);
  }
  return sum_by_pairs(std::span<const Uncertain>(sums), step, leave);
}

}  // namespace

Uncertain ChanceUnit::sum_of_exact(std::span<const double> values, const Format* output) const {
  if (!any_order && !order.plan && order.order == ReduceOrder::kPairwise) {
    return sum_by_pairs(values, RoundingStep(*unit), output == after);
  }
  std::vector<Uncertain> terms;
  terms.reserve(values.size());
  for (const double v : values) terms.push_back(Uncertain::exact(v));
  return sum(terms, output);
}

Uncertain ChanceUnit::sum(std::span<const Uncertain> all, const Format* output) const {
  if (any_order) return sum_in_any_order(all);
  const RoundingStep step(*unit), wide(*after);
  const auto tree = [&](std::span<const Uncertain> part, bool leave) {
    return sum_by_pairs(part, step, leave);
  };
  const auto chain = [&](std::span<const Uncertain> part, const RoundingStep& by, bool leave) {
    Uncertain sum;
    for (std::size_t i = 0; i < part.size(); ++i) {
      sum.add(part[i]);
      if (!leave || i + 1 < part.size()) sum.round(by);
    }
    return sum;
  };
  const bool leave = output == after;
  if (order.plan)
    return planned_sum(*order.plan, step, wide, output == unit, leave, {all.begin(), all.end()});
  if (order.order == ReduceOrder::kPairwise) return tree(all, leave);
  if (order.order == ReduceOrder::kSequential) {
    return chain(all, step, leave);
  }
  std::vector<Uncertain> sums;
  const auto length = static_cast<std::size_t>(order.chunk);
  for (std::size_t first = 0; first < all.size(); first += length) {
    const std::size_t count = std::min(length, all.size() - first);
    sums.push_back(tree(all.subspan(first, count), leave && count == all.size()));
  }
  if (order.order == ReduceOrder::kHighDim) return tree(sums, leave);
  return chain(sums, order.order == ReduceOrder::kBlock ? wide : step, leave);
}

}  // namespace assay
