#include "assay/machine/sum_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "assay/base/float_environment.h"
#include "assay/base/index.h"

namespace assay::inline v0_2 {
namespace {

// Calls add(i, j), i < j, for all additions that reduce `count` sums to one.
template <typename Add>
void meet(std::int64_t count, MeetOrder order, const Add& add) {
  switch (order) {
    case MeetOrder::kSequential:
      for (std::int64_t i = 1; i < count; ++i) add(0, i);
      return;
    case MeetOrder::kAscending:
      for (std::int64_t offset = 1; offset < count; offset *= 2) {
        for (std::int64_t i = 0; i + offset < count; i += 2 * offset) add(i, i + offset);
      }
      return;
    case MeetOrder::kDescending:
      for (auto offset =
               static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(count)) / 2);
           offset > 0; offset /= 2) {
        for (std::int64_t i = 0; i < offset && i + offset < count; ++i) add(i, i + offset);
      }
      return;
  }
}

std::int64_t half_of(const SumStage& stage, std::int64_t n) {
  const std::int64_t unit = stage.round > 0 ? stage.round : stage.lanes * stage.vector;
  return n / 2 / unit * unit;
}

// Builds the additions of one stage. Its elements lie at the indices first, first + step, ... A
// slot is the index of a sum, and kNone stands for a sum that does not exist.
class StageBuilder {
 public:
  StageBuilder(const SumStage& stage, std::int64_t step, std::vector<Additions>& out)
      : stage_(stage), step_(step), out_(out) {}

  std::int64_t build(std::int64_t first, std::int64_t n) {
    switch (stage_.family) {
      case SumFamily::kSequential:
        return chain(first, n);
      case SumFamily::kPairwise:
        meet(n, MeetOrder::kAscending,
             [&](std::int64_t i, std::int64_t j) { emit(first + i * step_, first + j * step_); });
        return first;
      case SumFamily::kHalves:
        if (const std::int64_t left = half_of(stage_, n); n > stage_.leaf && left > 0) {
          std::int64_t sum = build(first, left);
          return add(sum, build(first + left * step_, n - left));
        }
        break;
      case SumFamily::kLanes:
        break;
    }
    return rounds(first, n);
  }

 private:
  static constexpr std::int64_t kNone = -1;

  // Neighbouring additions become one entry, unless one of them reads what another one writes.
  void emit(std::int64_t to, std::int64_t from) {
    if (!out_.empty()) {
      Additions& last = out_.back();
      if (to == last.to + last.count && from == last.from + last.count && to < last.from) {
        ++last.count;
        return;
      }
    }
    out_.push_back({to, from, 1});
  }
  std::int64_t add(std::int64_t& to, std::int64_t from) {
    if (to == kNone)
      to = from;
    else if (from != kNone)
      emit(to, from);
    return to;
  }
  std::int64_t chain(std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 1; i < n; ++i) emit(first, first + i * step_);
    return n > 0 ? first : kNone;
  }

  std::int64_t rounds(std::int64_t first, std::int64_t n) {
    const std::int64_t main = stage_.round > 0 ? n / stage_.round * stage_.round : n;
    std::int64_t sum = lanes(first, main, stage_.lanes, stage_.vector, stage_.accumulators);
    const std::int64_t tail = stage_.tail_lanes * stage_.tail_accumulators;
    const std::int64_t rest = tail > 1 ? (n - main) / tail * tail : 0;
    add(sum, lanes(first + main * step_, rest, stage_.tail_lanes, 1, stage_.tail_accumulators));
    for (std::int64_t i = main + rest; i < n; ++i) add(sum, first + i * step_);
    return sum;
  }

  std::int64_t lanes(std::int64_t first, std::int64_t n, std::int64_t lanes, std::int64_t vector,
                     std::int64_t accumulators) {
    if (n == 0) return kNone;
    // Lanes and accumulators that get no elements are left out. They do not change the sum.
    const std::int64_t used = (n + vector - 1) / vector;
    std::int64_t warp = stage_.warp > 0 ? std::min(stage_.warp, lanes) : lanes;
    warp = std::min(warp, used);
    lanes = std::min(lanes, (used + warp - 1) / warp * warp);
    accumulators = std::min({accumulators, (used + lanes - 1) / lanes * vector, n});
    std::vector<std::int64_t> sums(at(lanes * accumulators), kNone);
    const auto slot = [&](std::int64_t i) -> std::int64_t& { return sums[at(i)]; };
    for (std::int64_t start = 0, taken = 0; start < n; taken += vector) {
      for (std::int64_t lane = 0; lane < lanes && start < n; ++lane) {
        const std::int64_t end = std::min(start + vector, n);
        for (std::int64_t e = taken; start < end; ++start, ++e) {
          add(slot(e % accumulators * lanes + lane), first + start * step_);
        }
      }
    }
    meet(accumulators, stage_.accumulator_order, [&](std::int64_t i, std::int64_t j) {
      for (std::int64_t lane = 0; lane < lanes; ++lane) {
        add(slot(i * lanes + lane), slot(j * lanes + lane));
      }
    });
    const auto within = [&](std::int64_t start) {
      meet(std::min(warp, lanes - start), stage_.lane_order,
           [&](std::int64_t i, std::int64_t j) { add(slot(start + i), slot(start + j)); });
    };
    const auto across = [&](std::int64_t width) {
      meet((lanes + warp - 1) / warp, MeetOrder::kDescending, [&](std::int64_t i, std::int64_t j) {
        for (std::int64_t lane = 0; lane < std::min(width, lanes - j * warp); ++lane) {
          add(slot(i * warp + lane), slot(j * warp + lane));
        }
      });
    };
    if (stage_.warps_first) {
      across(warp);
      within(0);
    } else {
      for (std::int64_t start = 0; start < lanes; start += warp) within(start);
      across(1);
    }
    return slot(0);
  }

  const SumStage& stage_;
  std::int64_t step_;
  std::vector<Additions>& out_;
};

template <typename T>
void add_all(const VectorArithmetic& unit, const std::vector<Additions>& all, std::int64_t w,
             T* x) {
  for (const Additions& a : all) {
    T* to = x + a.to * w;
    vector_apply(unit, VectorOp::kAdd, a.count * w, to, x + a.from * w, to, to);
  }
}

// Flushes the elements that the unit flushes before they are summed. This also covers a sum of a
// single element.
template <typename T>
void take_in(const VectorArithmetic& unit, std::int64_t n, T* x) {
  if (unit.subnormals == Subnormals::kGradual) return;
  const auto least = static_cast<T>(min_normal(*unit.format));
  for (std::int64_t i = 0; i < n; ++i) {
    x[i] = std::abs(x[i]) < least ? std::copysign(T{0}, x[i]) : x[i];
  }
}

template <typename T>
void sum_columns(const SumSchedule& schedule, const VectorArithmetic& unit,
                 const VectorArithmetic& second_unit, std::int64_t w, T* x, T* sums) {
  const FloatEnvironment environment;
  if (schedule.terms() == 0) {
    std::fill_n(sums, w, T{0});
    return;
  }
  take_in(unit, schedule.terms() * w, x);
  add_all(unit, schedule.first_stage(), w, x);
  add_all(second_unit, schedule.second_stage(), w, x);
  std::copy_n(x, w, sums);
}

}  // namespace

SumSchedule::SumSchedule(const SumPlan& plan, std::int64_t n) : n_(n) {
  if (n == 0) return;
  const std::int64_t block = plan.block > 0 ? plan.block : n;
  StageBuilder blocks(plan.first, 1, first_);
  for (std::int64_t start = 0; start < n; start += block) {
    blocks.build(start, std::min(block, n - start));
  }
  if (block < n) StageBuilder(plan.second, block, second_).build(0, (n + block - 1) / block);
}

SumSchedule::Depth SumSchedule::depth() const {
  const auto deepest = [&](const std::vector<Additions>& all) {
    std::vector<std::int32_t> depth(at(n_), 0);
    std::int32_t most = 0;
    for (const Additions& a : all) {
      for (std::int64_t i = 0; i < a.count; ++i) {
        std::int32_t& to = depth[at(a.to + i)];
        to = std::max(to, depth[at(a.from + i)]) + 1;
        most = std::max(most, to);
      }
    }
    return std::int64_t{most};
  };
  return {deepest(first_), deepest(second_)};
}

void SumSchedule::sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit,
                      std::int64_t w, double* x, double* sums) const {
  sum_columns(*this, unit, second_unit, w, x, sums);
}
void SumSchedule::sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit,
                      std::int64_t w, float* x, float* sums) const {
  sum_columns(*this, unit, second_unit, w, x, sums);
}

}  // namespace assay
