// Judges element by element. The judges of whole arrays and of pieces both use this.
#pragma once

#include <cstdint>

#include "assay/judge/findings.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// The rule by which a kernel judges many elements at once, if any does: the vector kernels of
// simd/compare.h, and those of devices. If a kernel finds a mismatch, its elements are then judged
// one by one.
enum class BlockRule : std::uint8_t { kNone, kPlain, kTolerance, kUlps, kBits };
BlockRule block_rule(const Bound& bound, const Format& output);
// True if a bound compares expected values after they were rounded to the output's format.
bool rounds_expected(const Bound& bound, const Format& output, const Format& expected);
// Returns the largest number that rounds to 0 in a format, or 0 if all other numbers round to
// others.
double vanishing_size(const Format& format);

// Judges `actual` against `expected`, which judge() has found comparable, and adds the results to
// `found`. `offset` is the number of elements that were judged before these. `wanted` says which
// error metrics to compute. If it has no parts, no metrics are computed.
void judge_elements(const TensorView& actual, const TensorView& expected, const Bound& bound,
                    const JudgeOptions& options, const MetricsRequest& wanted, std::int64_t offset,
                    ElementFindings& found);

}  // namespace assay
