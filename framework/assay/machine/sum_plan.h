// The trees by which kernels add, as parametric families. Either lanes, with several accumulators
// each, sum the elements, and shuffles join the sums of the lanes. Or the elements are split into
// halves recursively. A plan has two stages: first blocks, and then the blocks' sums.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/machine/vector.h"

namespace assay::inline v0_2 {

// The order in which several sums become one. A lane without elements has no sum, and nothing is
// added for it.
enum class MeetOrder : std::uint8_t {
  kDescending,  // adds the upper half to the lower one, again and again: offsets ..., 4, 2, 1
  kAscending,   // adds neighbours, then neighbours of their sums: offsets 1, 2, 4, ...
  kSequential,  // adds one sum after the other
};

enum class SumFamily : std::uint8_t {
  kSequential,  // adds one element after the other, in ascending order
  kPairwise,    // adds by a tree of adjacent pairs (ReduceOrder::kPairwise)
  kLanes,       // by lanes
  kHalves,      // cuts more than `leaf` elements into halves, which are summed in the same way
};

// One stage of a sum. In the family kLanes, lane l takes `vector` consecutive elements at a time:
// element i goes to lane i / vector mod lanes. In a lane, elements e = 0, 1, ... go to its
// accumulator e mod accumulators. First the accumulators of each lane are joined, then the lanes.
// Lanes are joined in groups of `warp`, each by lane_order, and then the groups' sums by descending
// offsets. With warps_first, the lanes of the same number in all groups are joined first, by
// descending offsets, and then the results by lane_order.
//
// Known members:
// - numpy's sums of contiguous floats (kHalves, leaf 128, lanes 8, round 8, ascending)
// - a block of Triton's tl.sum with 4 warps (lanes 128, warp 32, vector up to 16 bytes)
// - a row of torch.sum on CUDA (lanes 32 to 512, vector 4, accumulators 4)
// - OpenBLAS's sasum with AVX2
struct SumStage {
  SumFamily family = SumFamily::kPairwise;
  std::int64_t lanes = 1, vector = 1, accumulators = 1;
  MeetOrder accumulator_order = MeetOrder::kSequential;
  MeetOrder lane_order = MeetOrder::kDescending;
  // Number of lanes in a group. The last group may have fewer. 0 means that all lanes are one
  // group.
  std::int64_t warp = 0;
  bool warps_first = false;
  // Elements are taken in whole rounds of this number. 0 takes all elements, whatever their number.
  // The elements that are left over go to tail_lanes lanes of tail_accumulators accumulators, in
  // whole rounds of one element for each accumulator. Their sum is added to that of the lanes. The
  // last elements are added one by one.
  std::int64_t round = 0;
  std::int64_t tail_lanes = 1, tail_accumulators = 1;
  // Only for kHalves: the largest number of elements that is not cut into halves. The left half has
  // a whole number of rounds or, if `round` is 0, of lanes * vector elements.
  std::int64_t leaf = 0;

  friend bool operator==(const SumStage&, const SumStage&) = default;
};

// Blocks of `block` consecutive elements are summed by `first`. If `block` is 0, all elements are
// one block. The blocks' sums are summed by `second`, in an arithmetic of their own.
struct SumPlan {
  SumStage first;
  std::int64_t block = 0;
  SumStage second = {.family = SumFamily::kSequential};

  friend bool operator==(const SumPlan&, const SumPlan&) = default;
};

// Additions x[to + i] += x[from + i] for i < count, which do not depend on each other.
struct Additions {
  std::int64_t to, from, count;
};

// The additions that sum n elements in place. The sum ends up in x[0].
class SumSchedule {
 public:
  SumSchedule(const SumPlan& plan, std::int64_t n);

  const std::vector<Additions>& first_stage() const { return first_; }
  const std::vector<Additions>& second_stage() const { return second_; }
  std::int64_t terms() const { return n_; }
  // The most additions that an element goes through in each stage.
  struct Depth {
    std::int64_t first = 0, second = 0;
  };
  Depth depth() const;

  // Writes the sum of column j of a row-major n x w matrix to sums[j], or +0 if n is 0. The first
  // stage adds in the arithmetic of `unit`, and the second in that of `second_unit`, whose format
  // holds the values of `unit`. Overwrites `x`. Both units need fits_float32() for arrays of
  // float32.
  void sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit, std::int64_t w,
           double* x, double* sums) const;
  void sum(const VectorArithmetic& unit, const VectorArithmetic& second_unit, std::int64_t w,
           float* x, float* sums) const;

 private:
  std::int64_t n_;
  std::vector<Additions> first_, second_;
};

}  // namespace assay
