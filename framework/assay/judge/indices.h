// The standard `indices`: outputs that are positions in an input (top-k, argsort, unique, a sort
// that is not stable) have several right answers where values tie. They are judged through the
// values at the indices, never by the indices themselves.
//
//   indices            the values are equal; with an rtol or atol of the case's own, within those
//   indices(torch)     the values meet this standard of single elements, for the input's dtype
//   indices(unsorted)  the values of a row are the same in any order: top-k that does not sort
//   indices(flattened) the indices are positions in the whole input, row-major; they are one row
//
// The words stand behind a standard, too: indices(torch,unsorted,flattened).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/judge/verdict.h"

namespace assay {

// What the words of the standard say.
struct IndexRule {
  std::string values;      // the standard in the brackets, "" where there is none
  bool unsorted = false;   // the values of a row in any order
  bool flattened = false;  // positions in the whole input
};
// Empty for other standards. Throws std::invalid_argument where the brackets hold two standards, or
// a word twice.
std::optional<IndexRule> index_rule(std::string_view standard);
// "" of "indices", "torch" of "indices(torch,unsorted)"; empty for other standards.
std::optional<std::string> values_of_indices(std::string_view standard);
// The same standard with another one for the values: "indices(numpy,unsorted)".
std::string with_values(const IndexRule& rule, std::string_view values);

// Whether a bound speaks of single elements alone, so that values at indices can be held to it.
bool judges_single_elements(const Bound& bound);

// Judges indices along an axis of options.index_source. Outputs have its rank, and its extents but
// for that of the axis; or lack the axis, as those of argmax do. Of the flattened input they have
// any shape. Each index must lie within the
// axis (none counts from the end), stand once in its row, and lead to a value within the bound of
// the one that the expected index leads to; of the last kind alone a budget forgives. Equal NaNs
// are equal unless the bound says that they are not. Untrusted where too many indices could be any
// other of their row.
Verdict judge_indices(const TensorView& actual, const TensorView& expected, const Bound& bound,
                      const JudgeOptions& options);

}  // namespace assay
