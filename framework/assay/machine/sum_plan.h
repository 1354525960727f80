// The trees by which kernels add, as parametric families: lanes with several accumulators each,
// whose sums meet by shuffles; halves of halves; and two stages, blocks and then their sums.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/machine/vector.h"

namespace assay {

// How several sums become one. Where there is no sum, as of a lane that got no element, nothing is
// added.
enum class MeetOrder : std::uint8_t {
  kDescending,  // the upper half is added to the lower one, again and again: offsets ..., 4, 2, 1
  kAscending,   // neighbours are added, then neighbours of these: offsets 1, 2, 4, ...
  kSequential,  // one after the other
};

enum class SumFamily : std::uint8_t {
  kSequential,  // ascending, one after the other
  kPairwise,    // a tree of adjacent pairs (ReduceOrder::kPairwise)
  kLanes,       // by lanes
  kHalves,      // more than `leaf` elements are cut into halves, which are summed so and added
};

// One stage of a sum. Lane l of order kLanes takes `vector` consecutive elements at a time: element
// i goes to lane i / vector mod lanes, whose elements e = 0, 1, ... go to its accumulator e mod
// accumulators. The accumulators of each lane meet, then the lanes: in groups of `warp`, each by
// lane_order, then the groups' sums by descending offsets; with warps_first the lanes of one number
// in all groups by descending offsets, and then these by lane_order.
//
// Known members: numpy's sums of contiguous floats (kHalves, leaf 128, lanes 8, round 8,
// ascending); a block of Triton's tl.sum with 4 warps (lanes 128, warp 32, vector up to 16 bytes);
// a row of torch.sum on CUDA (lanes 32 to 512, vector 4, accumulators 4); OpenBLAS's sasum with
// AVX2.
struct SumStage {
  SumFamily family = SumFamily::kPairwise;
  std::int64_t lanes = 1, vector = 1, accumulators = 1;
  MeetOrder accumulator_order = MeetOrder::kSequential;
  MeetOrder lane_order = MeetOrder::kDescending;
  std::int64_t warp = 0;  // lanes of a group, the last of which may have fewer; 0: all are one
  bool warps_first = false;
  // Elements are taken in whole rounds of so many (0: all, whatever their number). Those that are
  // left go to tail_lanes lanes of tail_accumulators accumulators, in whole rounds of one element
  // for each, and their sum is added to that of the lanes; the last ones are added one by one.
  std::int64_t round = 0;
  std::int64_t tail_lanes = 1, tail_accumulators = 1;
  std::int64_t leaf = 0;  // kHalves; halves are whole rounds, else whole numbers of lanes * vector

  friend bool operator==(const SumStage&, const SumStage&) = default;
};

// Blocks of `block` consecutive elements (0: all are one) are summed by `first`, and their sums, in
// an arithmetic of their own, by `second`.
struct SumPlan {
  SumStage first;
  std::int64_t block = 0;
  SumStage second = {.family = SumFamily::kSequential};

  friend bool operator==(const SumPlan&, const SumPlan&) = default;
};

// Additions x[to + i] += x[from + i] for i < count, which do not wait for each other.
struct Additions {
  std::int64_t to, from, count;
};

// The additions that make the sum of n elements out of them, in place; it ends up in x[0].
class SumSchedule {
 public:
  SumSchedule(const SumPlan& plan, std::int64_t n);

  const std::vector<Additions>& first() const { return first_; }
  const std::vector<Additions>& second() const { return second_; }
  std::int64_t terms() const { return n_; }
  // The most additions that an element goes through in each stage.
  struct Depth {
    std::int64_t first = 0, second = 0;
  };
  Depth depth() const;

  // sums[j] = plan_oracle() of column j of a row-major n x w matrix, the same bits. `x` is scratch
  // afterwards. Arrays of float32 need fits_float32() of both units.
  void sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit, std::int64_t w,
           double* x, double* sums) const;
  void sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit, std::int64_t w,
           float* x, float* sums) const;

 private:
  std::int64_t n_;
  std::vector<Additions> first_, second_;
};

// The scalar oracle: the sum of x[i * stride] for i < n; +0 for n = 0. The first stage adds in the
// arithmetic of `unit`, the second one in that of `second_unit`, whose format holds unit's values.
double plan_oracle(const VectorArithmetic& unit, const VectorArithmetic& second_unit,
                   const SumPlan& plan, std::int64_t n, const double* x, std::int64_t stride = 1);

}  // namespace assay
