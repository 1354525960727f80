// Bounds that are judged many elements at a time.
#pragma once

#include <cstdint>

#include "assay/judge/bound.h"

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

}  // namespace assay
