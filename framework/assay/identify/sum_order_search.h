// In which order did a kernel add? From recorded sums of known numbers, this finds the tree of
// additions and the format of its partial sums, if the tree belongs to a family of
// machine/sum_plan.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/identify/sum_order_space.h"

namespace assay::inline v0_2::identify {

// The rows of x, `terms` numbers each, one after the other, and the recorded sum of each row. The
// formats are those that the kernel read and wrote.
struct RecordedSums {
  const Format* input = nullptr;
  const Format* output = nullptr;
  std::int64_t terms = 0;
  std::vector<double> x, sums;
};

// Returns the rows of a reduce_sum along its axis, and the sums that the producer recorded. For a
// reduce_mean of a power of two of numbers, the sums are the means times that number. Throws
// Refusal, which names the case, if it is neither operator, or if the producer
// recorded nothing or another shape. Also throws for a mean of any other number of numbers, because
// it hides bits of the sum.
RecordedSums recorded_sums(const Case& test_case, const std::string& producer);

enum class SumOrderOutcome : std::uint8_t {
  kFound,      // one tree and its formats give every sum
  kUndecided,  // several trees do, or one that could do so by chance
  kNone,       // no tree that was tried gives every sum
};

// The evidence for a parameter of the model that was found. `rival` is the other value with which
// the fewest sums differ from the recorded ones. Values that give the same tree over this number of
// terms are left out.
struct SumOrderEvidence {
  std::string parameter, value;
  std::string rival;        // empty if no other value gives another tree
  std::int64_t differ = 0;  // number of sums that differ from the recorded ones with `rival`
};

struct SumOrderFinding {
  SumOrderOutcome outcome = SumOrderOutcome::kNone;
  // The models that give every sum. If several models have the same tree, only the one with the
  // fewest parameters is listed. Likely trees come first.
  std::vector<SumOrderModel> fits = {};
  bool has_more = false;  // true if the search stopped because kMostFits trees fit
  // The first of `fits`. If no model fits, the one that gives the most sums.
  SumOrderModel nearest = {};
  std::int64_t agree = 0;  // number of sums that `nearest` gives
  std::int64_t sums = 0;   // number of all sums without NaN or infinity
  std::int64_t tried = 0;  // number of models tried
  double by_chance = 0;    // expected number of wrong models that give every sum
  // The formats of the first stage's partial sums with which a model fits, by name. If there is
  // only one, the format is decided, even if the tree is not.
  std::vector<std::string> formats = {};
  std::vector<SumOrderEvidence> evidence = {};  // only for kFound
};

// The largest number of terms of a sum that is searched.
inline constexpr std::int64_t kMostSumTerms = 1 << 16;
// The search stops at this number of models that fit.
inline constexpr std::size_t kMostFits = 1000;
// The largest by_chance for which a tree counts as found.
inline constexpr double kMostByChance = 1e-3;

// Tries every model of SumOrderSpace on all sums of all recordings. The recordings come from one
// kernel, so all have the same parameters. The sums follow IEEE 754, and the last one is rounded to
// the output's format. `threads` may be 0, which means default_threads(). The result does not
// depend on it.
//
// Throws Refusal in these cases:
// - Formats differ, or are not float16, bfloat16, float32 or float64.
// - Rows have more than kMostSumTerms or fewer than 2 numbers.
// - Sizes do not match.
// - No sum is finite.
SumOrderFinding find_sum_order(const std::vector<RecordedSums>& recordings, int threads = 0);

}  // namespace assay::identify
