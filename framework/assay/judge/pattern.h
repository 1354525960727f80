// Explains a failure: finds the cause of its mismatches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// A failure in words, for Verdict::where and Verdict::explained.
struct FailurePattern {
  std::string text;
  // True if the text names a cause that explains nearly all mismatches. If false, the text gives at
  // most their location and a guess.
  bool explained = false;
};

// Returns the pattern of a verdict that failed: its `where`, and the cause that explains the
// mismatches. An example is `"all in row 3; the output with row 3 times 0.5 would pass (explains 64
// of 64 mismatches)"`. Causes are tried in this order, and the first group that has one names it:
//
//   1. special values: NaN or infinity in place of finite values, and golden results that the
//      output's format rounds to NaN (output_values.h);
//   2. one value throughout: elements that were never written, that saturate or are cut to 0, and
//      results that are cut off instead of rounded;
//   3. changes of the output (output_changes.h): exchanged dimensions, rows or columns, a shift by
//      one, a factor, bits of another dtype, reversed bytes, exchanged halves, a flipped bit, a
//      factor for each row, rows in another order. If several explain the failure, the
//      one that explains most and breaks least is named;
//   4. elements that repeat a neighbour;
//   5. a tail that was never written, if the mismatches fill the end of the output. That is only a
//      guess, so `explained` stays false.
//
// A cause must explain at least 90 percent of the mismatches. If there are few mismatches, up to 4
// of them, and at most a fifth of all, may have other causes. The expected values must be able to
// distinguish the cause from chance: the same change, compared with the expected values of other
// mismatches, must pass with a probability below 0.001. So neither the transpose of a symmetric
// result nor a factor of constant values is named. If only statistics failed, the elements that are
// far off for the output's dtype count as mismatches, and the changed output must meet the limits.
//
// `mismatches` holds row-major positions of mismatches, in order. If there are many, these are the
// first ones. At most 2^20 elements are examined, and the known mismatches. If these are not all
// elements, the text says so. The result depends only on the arguments.
FailurePattern failure_pattern(const TensorView& actual, const TensorView& expected,
                               const JudgeOptions& options, const Verdict& verdict,
                               const std::vector<std::int64_t>& mismatches);

}  // namespace assay
