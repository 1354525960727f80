// Scalar oracles of sums: plain code that adds values and computes what reduce_sum() and
// SumSchedule::sum() must return.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "assay/format/convert.h"
#include "assay/machine/sum_plan.h"
#include "assay/machine/vector.h"

namespace assay {
namespace oracle {

// Returns a term as the unit reads it.
inline double as_read(const VectorArithmetic& unit, double x) {
  const bool flushes = unit.subnormals != Subnormals::kGradual;
  return flushes && std::abs(x) < min_normal(*unit.format) ? std::copysign(0.0, x) : x;
}

// Returns the sum of n elements x[0], x[stride], ... by a tree. Its left part has as many elements
// as the largest power of two below n.
inline double tree(const VectorArithmetic& unit, std::int64_t n, const double* x,
                   std::int64_t stride) {
  if (n == 1) return as_read(unit, *x);
  const auto left = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n - 1)));
  return vector_oracle(unit, VectorOp::kAdd, tree(unit, left, x, stride),
                       tree(unit, n - left, x + left * stride, stride));
}

inline double chain(const VectorArithmetic& unit, std::int64_t n, const double* x,
                    std::int64_t stride) {
  double sum = as_read(unit, *x);
  for (std::int64_t i = 1; i < n; ++i) {
    sum = vector_oracle(unit, VectorOp::kAdd, sum, x[i * stride]);
  }
  return sum;
}

class PlanOracle {
 public:
  using Sum = std::optional<double>;  // empty if there are no terms

  PlanOracle(const VectorArithmetic& unit, const SumStage& stage) : unit_(unit), stage_(stage) {}

  Sum of(const std::vector<double>& x) const {
    std::vector<Sum> all(x.begin(), x.end());
    if (stage_.family == SumFamily::kSequential) return one_by_one(all);
    if (stage_.family == SumFamily::kPairwise) return neighbours(all);
    const auto n = static_cast<std::int64_t>(x.size());
    const std::int64_t left = half_of(n);
    if (stage_.family == SumFamily::kHalves && n > stage_.leaf && left > 0) {
      return add(of({x.begin(), x.begin() + left}), of({x.begin() + left, x.end()}));
    }
    const std::int64_t main = stage_.round > 0 ? n - n % stage_.round : n;
    const std::int64_t tail = stage_.tail_lanes * stage_.tail_accumulators;
    const std::int64_t rest = tail > 1 ? n - (n - main) % tail : main;
    Sum sum =
        lanes({x.begin(), x.begin() + main}, stage_.lanes, stage_.vector, stage_.accumulators);
    sum = add(sum, lanes({x.begin() + main, x.begin() + rest}, stage_.tail_lanes, 1,
                         stage_.tail_accumulators));
    for (auto at = x.begin() + rest; at != x.end(); ++at) sum = add(sum, *at);
    return sum;
  }

 private:
  Sum add(const Sum& a, const Sum& b) const {
    if (!a || !b) return a ? a : b;
    return vector_oracle(unit_, VectorOp::kAdd, *a, *b);
  }
  std::int64_t half_of(std::int64_t n) const {
    const std::int64_t unit = stage_.round > 0 ? stage_.round : stage_.lanes * stage_.vector;
    return n / 2 / unit * unit;
  }
  Sum one_by_one(const std::vector<Sum>& x) const {
    Sum sum;
    for (const Sum& v : x) sum = add(sum, v);
    return sum;
  }
  Sum neighbours(std::vector<Sum> x) const {
    if (x.size() <= 1) return x.empty() ? Sum{} : x[0];
    std::vector<Sum> pairs;
    for (std::size_t i = 0; i < x.size(); i += 2) {
      pairs.push_back(i + 1 < x.size() ? add(x[i], x[i + 1]) : x[i]);
    }
    return neighbours(pairs);
  }
  Sum upper_half_to_lower(std::vector<Sum> x) const {
    if (x.size() <= 1) return x.empty() ? Sum{} : x[0];
    const std::size_t half = std::bit_ceil(x.size()) / 2;
    std::vector<Sum> lower(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(half));
    for (std::size_t i = half; i < x.size(); ++i) lower[i - half] = add(lower[i - half], x[i]);
    return upper_half_to_lower(lower);
  }
  Sum met(const std::vector<Sum>& x, MeetOrder order) const {
    return order == MeetOrder::kSequential  ? one_by_one(x)
           : order == MeetOrder::kAscending ? neighbours(x)
                                            : upper_half_to_lower(x);
  }
  Sum lanes(const std::vector<double>& x, std::int64_t count, std::int64_t vector,
            std::int64_t accumulators) const {
    std::vector<Sum> lane_sums;
    const auto n = static_cast<std::int64_t>(x.size());
    for (std::int64_t lane = 0; lane < count; ++lane) {
      std::vector<Sum> sums(static_cast<std::size_t>(accumulators));
      std::int64_t e = 0;
      for (std::int64_t start = lane * vector; start < n; start += count * vector) {
        for (std::int64_t i = start; i < std::min(start + vector, n); ++i, ++e) {
          Sum& sum = sums[static_cast<std::size_t>(e % accumulators)];
          sum = add(sum, x[static_cast<std::size_t>(i)]);
        }
      }
      lane_sums.push_back(met(sums, stage_.accumulator_order));
    }
    const std::int64_t warp = stage_.warp > 0 ? std::min(stage_.warp, count) : count;
    const std::int64_t groups = (count + warp - 1) / warp;
    std::vector<Sum> rest;
    for (std::int64_t i = 0; i < (stage_.warps_first ? warp : groups); ++i) {
      // If warps_first is set, a group is lane i of every warp. If not, it is all lanes of warp i.
      std::vector<Sum> group;
      for (std::int64_t j = 0; j < (stage_.warps_first ? groups : warp); ++j) {
        const std::int64_t lane = stage_.warps_first ? j * warp + i : i * warp + j;
        if (lane < count) group.push_back(lane_sums[static_cast<std::size_t>(lane)]);
      }
      rest.push_back(met(group, stage_.warps_first ? MeetOrder::kDescending : stage_.lane_order));
    }
    return met(rest, stage_.warps_first ? stage_.lane_order : MeetOrder::kDescending);
  }

  const VectorArithmetic& unit_;
  const SumStage& stage_;
};

}  // namespace oracle

// Returns the sum of x[i * stride] for i < n, or +0 if n is 0, as reduce_sum() must compute it.
inline double reduce_oracle(const VectorArithmetic& unit, ReduceOrder order, std::int64_t chunk,
                            std::int64_t n, const double* x, std::int64_t stride = 1) {
  if (n == 0) return 0;
  if (order == ReduceOrder::kSequential) return oracle::chain(unit, n, x, stride);
  if (order == ReduceOrder::kPairwise) return oracle::tree(unit, n, x, stride);
  std::vector<double> sums;
  for (std::int64_t start = 0; start < n; start += chunk) {
    sums.push_back(oracle::tree(unit, std::min(chunk, n - start), x + start * stride, stride));
  }
  const auto count = static_cast<std::int64_t>(sums.size());
  if (order == ReduceOrder::kHighDim) return oracle::tree(unit, count, sums.data(), 1);
  return oracle::chain(order == ReduceOrder::kBlock ? block_arithmetic(unit) : unit, count,
                       sums.data(), 1);
}

// Returns the sum of x[i * stride] for i < n, or +0 if n is 0, as SumSchedule::sum() must compute
// it.
inline double plan_oracle(const VectorArithmetic& unit, const VectorArithmetic& second_unit,
                          const SumPlan& plan, std::int64_t n, const double* x,
                          std::int64_t stride = 1) {
  if (n == 0) return 0;
  const std::int64_t block = plan.block > 0 ? plan.block : n;
  std::vector<double> sums;
  for (std::int64_t start = 0; start < n; start += block) {
    std::vector<double> values;
    for (std::int64_t i = start; i < std::min(start + block, n); ++i) {
      values.push_back(oracle::as_read(unit, x[i * stride]));
    }
    sums.push_back(*oracle::PlanOracle(unit, plan.first).of(values));
  }
  return *oracle::PlanOracle(second_unit, plan.second).of(sums);
}

}  // namespace assay
