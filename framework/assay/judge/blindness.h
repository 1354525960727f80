// What a check cannot see: elements that could be zero while it passes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay {

// Positions that stand for all of `size`: each of them where there are at most kSampledElements,
// else one, drawn at random, of each of so many stretches of equal length. The same for every run.
inline constexpr std::int64_t kSampledElements = 16384;
std::vector<std::int64_t> sampled_positions(std::int64_t size);

// The elements at these positions, as a tensor of rank 1.
Tensor elements_at(const TensorView& from, std::span<const std::int64_t> positions);

// A check is tried on the expected values rounded to the output's format, of which more and more
// become 0, the smallest first: of the elements that are not 0, the share that can be 0 before
// `passes` refuses the output. Of rank 1, and finite; 0 where it refuses the rounded values
// themselves. The number of elements is doubled until it refuses, then halved into.
double blind_share_by_trial(const TensorView& expected, const Format& output,
                            const std::function<bool(const TensorView& output)>& passes);

// From this share on every report says it.
inline constexpr double kNotedBlindness = 0.01;

// "the check is blind to 12 of the 50 elements that are not zero (24.0 %): as zeros they would pass
// atol 0.001 + rtol 0.001 * |expected|". `blind` is above 0; `sampled`: it was tried on a sample.
std::string blind_words(std::int64_t blind, std::int64_t nonzero, bool sampled,
                        std::string_view rule);
// The same of a verdict; empty where its check is blind to nothing.
std::string blind_words(const Verdict& verdict);

// "; an absolute tolerance below 3.1e-05 would see half of what is not zero": below the size that
// the largest share of blind elements which the bound allows does not exceed. Begins the end of a
// sentence; empty where there is no such tolerance. `sizes` gives |expected| of
// sampled_positions().
std::string tolerance_that_sees(const Verdict& verdict,
                                const std::function<std::vector<double>()>& sizes);

}  // namespace assay
