// Blind elements of a check: elements that could be zero while the check still passes.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Returns positions that represent all of `size` elements. If there are at most kSampledElements
// elements, these are all positions. Otherwise the elements are cut into kSampledElements stretches
// of equal length, and one position is drawn at random from each. Every run draws the same
// positions.
inline constexpr std::int64_t kSampledElements = 16384;
std::vector<std::int64_t> sampled_positions(std::int64_t size);

// Returns the elements of a real or complex tensor at these positions, as a tensor of rank 1.
Tensor elements_at(const TensorView& from, std::span<const std::int64_t> positions);

// Finds by trial how many elements a check is blind to. The check is tried on the expected values,
// rounded to the output's format, while more and more of them are set to 0, the smallest first.
// Returns the share of the elements other than 0 that can be 0 before `passes` refuses the output.
// Returns 0 if `passes` refuses the rounded values themselves. `expected` has rank 1 and only
// finite values. The number of zeros is doubled until the check refuses, then found by bisection.
double blind_share_by_trial(const TensorView& expected, const Format& output,
                            const std::function<bool(const TensorView& output)>& passes);

// Every report mentions the blind elements if their share is at least this.
inline constexpr double kNotedBlindness = 0.01;

// Returns "the check is blind to 12 of the 50 elements that are not zero (24.0 %): as zeros they
// would pass atol 0.001 + rtol 0.001 * |expected|". `blind` is above 0. `sampled` is true if only a
// sample of the elements was tried.
std::string blind_words(std::int64_t blind, std::int64_t nonzero, bool sampled,
                        std::string_view rule);
// Returns the words of the function above for a verdict, or an empty string if its check is blind
// to no element.
std::string blind_words(const Verdict& verdict);

// Returns the end of a sentence, such as "; an absolute tolerance below 3.1e-05 would see half of
// what is not zero". Elements smaller than this number are the share max_blind of the elements that
// are not 0, so a tolerance below the number leaves at most this share blind. Returns an empty
// string if there is no such tolerance. `sizes` returns |expected| at sampled_positions().
std::string tolerance_that_sees(const Verdict& verdict,
                                const std::function<std::vector<double>()>& sizes);

}  // namespace assay
