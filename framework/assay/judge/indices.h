// The standard `indices`: outputs that are positions in an input (top-k, argsort, unique, a sort
// that is not stable) have several right answers where values tie. They are judged through the
// values at the indices, never by the indices themselves.
//
//   indices            the values are equal; with an rtol or atol of the case's own, within those
//   indices(torch)     the values meet this standard of single elements, for the input's dtype
#pragma once

#include <optional>
#include <string_view>

#include "assay/judge/verdict.h"

namespace assay {

// "" of "indices", "torch" of "indices(torch)"; empty for other standards.
std::optional<std::string_view> values_of_indices(std::string_view standard);

// Whether a bound speaks of single elements alone, so that values at indices can be held to it.
bool judges_single_elements(const Bound& bound);

// Judges indices along an axis of options.index_source. Outputs have its rank, and its extents but
// for that of the axis; or lack the axis, as those of argmax do. Each index must lie within the
// axis (none counts from the end), stand once in its row, and lead to a value within the bound of
// the one that the expected index leads to; of the last kind alone a budget forgives. Equal NaNs
// are equal unless the bound says that they are not. Untrusted where too many indices could be any
// other of their row.
Verdict judge_indices(const TensorView& actual, const TensorView& expected, const Bound& bound,
                      const JudgeOptions& options);

}  // namespace assay
