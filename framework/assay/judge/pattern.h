// What a failure looks like: where its misses lie, and which one change of the output would mend
// it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// The text of Verdict::where of a verdict that failed: what it says already, and the pattern of the
// values: elements that were never written, else the one change of the output under which most
// misses pass the verdict's own bound. Looked for are exchanged dimensions, rows or columns, a
// shift by one, a factor, bits of another dtype, reversed bytes, and one flipped bit; for instance
// "all in row 3; the output times 0.5 would pass (explains 64 of 64 misses)".
//
// A change is reported where it explains at least 90 % of the misses, and where the expected values
// can tell it from none: not the transpose of a symmetric result, nor a factor of constant values.
// Where statistics alone failed, elements count as misses that are far off for the output's dtype,
// and the changed output must meet the limits.
//
// `misses`: row-major positions of misses, in order; the first of them, where there are many. At
// most 2^20 elements are looked at, and those: the text says so where that is not all of them. It
// depends on nothing but the arguments.
std::string failure_pattern(const TensorView& actual, const TensorView& expected,
                            const JudgeOptions& options, const Verdict& verdict,
                            const std::vector<std::int64_t>& misses);

}  // namespace assay
