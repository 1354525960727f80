// The standard `indices`, for outputs that are positions in an input (top-k, argsort, unique, a
// sort that is not stable). If values tie, several outputs are right. So the values at the indices
// are judged, and never the indices.
//
//   indices            the values are equal, or within the case's own rtol and atol if it has them
//   indices(torch)     the values meet this standard for single elements, with the input's dtype
//   indices(unsorted)  each row has the same values in any order: top-k that does not sort
//   indices(flattened) the indices are row-major positions in the whole input, and form one row
//
// The words may follow a standard: indices(torch,unsorted,flattened).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// The meaning of the words in the brackets of indices(...).
struct IndexRule {
  std::string values;      // the standard for the values, or "" if the brackets name no standard
  bool unsorted = false;   // each row may have its values in any order
  bool flattened = false;  // the indices are positions in the whole input
};
// Returns the words of the standard `indices`, or nothing for other standards. Throws Refusal if
// the brackets hold two standards, or the same word twice.
std::optional<IndexRule> index_rule(std::string_view standard);
// Returns the standard for the values: "" for "indices", "torch" for "indices(torch,unsorted)".
// Returns nothing for other standards.
std::optional<std::string> values_of_indices(std::string_view standard);
// Returns the standard with another one for its values: "indices(numpy,unsorted)".
std::string with_values(const IndexRule& rule, std::string_view values);

// True if a bound judges each element separately, so that it can judge the values at indices.
bool judges_single_elements(const Bound& bound);

// Judges indices along an axis of options.index_source. The output has the same rank and extents as
// this input, except for the extent of the axis. The axis may also be missing, as in the output of
// argmax. Indices into the flattened input may have any shape.
//
// An index is right if it meets three conditions:
// - It lies within the axis. Negative indices do not count from the end.
// - It occurs once in its row.
// - The value that it leads to is within the bound of the value of the expected index.
//
// A budget forgives only failures of the last condition. NaN equals NaN unless the bound says
// otherwise. The verdict is kUntrusted if too many indices could be replaced by any other index of
// their row.
Verdict judge_indices(const TensorView& actual, const TensorView& expected, const Bound& bound,
                      const JudgeOptions& options);

}  // namespace assay
