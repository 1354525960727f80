// In which order did a kernel add? From recorded sums of known numbers, the tree and the format of
// its partial sums, where they are one of the families of machine/sum_plan.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/identify/sum_order_space.h"

namespace assay::identify {

// Sums of `terms` numbers each: rows of x, one after the other, and the sum of each row, in the
// formats that the kernel read and wrote.
struct RecordedSums {
  const Format* input = nullptr;
  const Format* output = nullptr;
  std::int64_t terms = 0;
  std::vector<double> x, sums;
};

// The rows of a reduce_sum along its axis, and what the producer recorded for them; for a
// reduce_mean of a power of two of numbers the means times their number, which are the sums. Throws
// std::invalid_argument that names the case if it is neither, if the producer recorded nothing or
// another shape, and for a mean of another number of numbers, which hides bits of the sum.
RecordedSums recorded_sums(const Case& test_case, const std::string& producer);

enum class SumOrderOutcome : std::uint8_t {
  kFound,      // one tree and its formats give every sum
  kUndecided,  // several do, or one that could do so by chance
  kNone,       // no tree that was tried does
};

// What the data say of a parameter of the model that was found: of its other values the one that
// differs in the fewest sums. No value differs where it makes no other tree of so many terms.
struct SumOrderEvidence {
  std::string parameter, value;
  std::string rival;        // empty: no other value makes another tree
  std::int64_t differ = 0;  // sums that the rival gives otherwise
};

struct SumOrderFinding {
  SumOrderOutcome outcome = SumOrderOutcome::kNone;
  // Of each tree that gives every sum the model of the fewest parameters, likely ones first.
  std::vector<SumOrderModel> fits;
  bool has_more = false;   // so many fit that the search was ended
  SumOrderModel nearest;   // the first of these, else that which gives the most sums
  std::int64_t agree = 0;  // sums that `nearest` gives,
  std::int64_t sums = 0;   // of so many: those without NaN or infinity
  std::int64_t tried = 0;  // models
  double by_chance = 0;    // expected number of wrong models of these that give every sum
  // The formats of the first stage's partial sums that fit, by name: one of them is decided, even
  // where the tree is not.
  std::vector<std::string> formats;
  std::vector<SumOrderEvidence> evidence;  // of kFound
};

// The longest sums that are searched.
inline constexpr std::int64_t kMostSumTerms = 1 << 16;
// How many that fit are looked for.
inline constexpr std::size_t kMostFits = 1000;
// What by_chance is at most of a tree that is found.
inline constexpr double kMostByChance = 1e-3;

// Tries every model of SumOrderSpace on all sums of all recordings, which are one kernel's: the
// same parameters for all of them. Sums are IEEE 754's, and the last one is rounded to the output's
// format. The result does not depend on `threads` (0: default_threads()). Throws
// std::invalid_argument for formats that are not float16, bfloat16, float32 or float64 or differ,
// rows longer than kMostSumTerms or shorter than 2, sizes that do not fit each other, and where no
// finite sum is left.
SumOrderFinding find_sum_order(const std::vector<RecordedSums>& recordings, int threads = 0);

// The finding in a few lines, ready to be printed.
std::string sum_order_report(const SumOrderFinding& finding);

}  // namespace assay::identify
