// What a checksum test says after each flip of one bit of one of its elements. Nothing is summed
// again: the sum moves by as much as the element, and the threshold by what the element contributed
// to it. The scalar oracle is flip_bin() in campaign/flips.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/bound_form_kernel.h"
#include "assay/simd/convert_kernel.h"

namespace assay::simd {

// D/T is counted in bins of an eighth of an octave, from 2^-16 to 2^16: bin b holds
// edge(b - 1) < D/T <= edge(b). D = T is the upper edge of bin kBinAtOne, so the checks in the bins
// above that one are flagged.
inline constexpr int kBinBits = 3, kBinOctaves = 16;
inline constexpr int kRatioBins = (2 * kBinOctaves << kBinBits) + 2;  // below and above the range
inline constexpr int kBinAtOne = kBinOctaves << kBinBits;
// The bins of flips that have no ratio.
enum FlipBin : std::uint16_t {
  kBinNotFinite = kRatioBins,  // the element became infinite or NaN: flagged
  kBinMasked,                  // the element's value did not change
  kBinUnsure,                  // too near to the threshold, or to a rounding: sum again
  kBinDismissed,               // above the threshold, but clean element by element
  kFlipBins,
};
// Added to a bin above the threshold where it is not certain that the element is out of its bound:
// the caller has to compare the element itself.
inline constexpr std::uint16_t kFlipDoubtful = 0x8000;

// The bin of a ratio that is not NaN; `above`: whether D > T.
std::uint16_t ratio_bin(double ratio, bool above);

// One check: the row sum, or the sum of a group of its columns.
struct FlipCheck {
  const void* elements = nullptr;  // stored without gaps
  std::size_t n = 0;
  double expected = 0;                  // the checksum, already rounded where `rounding` is set
  double guard = 0;                     // how far stats.sum and a new summation may be apart
  const RoundSpec* rounding = nullptr;  // sums are rounded to this format before they are compared
  BoundForm form;                       // of the threshold; without `branch`, and per_absolute is 0
  OutputStats stats;                    // of the elements as they are
  double second = 0;                    // the second largest |c|
  int mantissa_bits = 0;                // of the elements' format
  double min_subnormal = 0;
  // Confirmation: accumulation adds at most this to an element's rounding error, so that a change
  // of two ulps and three times this takes it out of its bound. Below 0: there is none.
  double element_error = -1;
};

// bins[b * stride + j] of the flip of bit bits[b] in element j, plus kFlipBins where that bit goes
// from 1 to 0. Storages kF32, kF16, kBf16; element and sum must be finite as they are. Returns
// whether any bin may be kBinUnsure or doubtful.
//
// Outside kBinUnsure the verdict is that of a new summation: D and T are then at least `guard` and
// 2^-16 T apart, which covers float64's errors and those of sums that take ulps in float32. The
// tail of the rounding errors stays what it is where the element keeps its ulp. Else it moves by
// the difference of log(sinh(x) / x) / s, x = s ulp / 2, s its slope (of x above 1.5: x - log(2 x);
// below: x^2 / 6), which is right to first order. It is known to lie between the tail as it was and
// that plus the element's new half ulp, and not below that (but for the budget), where the ulp has
// grown; else between that minus the old half ulp and the tail as it was: an error has one mode at
// 0, so that a larger one spreads the sum, by no more than itself.
bool flip_bins(Storage storage, const FlipCheck& check, const int* bits, std::size_t bit_count,
               std::size_t stride, std::uint16_t* bins);

inline constexpr double kFlipBand = 0x1p-16;
inline constexpr double kFlipTailKept = 0x1p-10, kFlipTailLarge = 1.5;
// Sums of squares and ulps that lose this much of themselves are taken anew.
inline constexpr double kFlipCancelled = 0x1p-20;

}  // namespace assay::simd
