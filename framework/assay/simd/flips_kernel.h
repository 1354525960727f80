// The verdict of a checksum test after each flip of one bit of one of its elements. Nothing is
// summed again: the sum changes by the change of the element, and the threshold by the change of
// the element's contribution. The scalar oracle is flip_bin() in campaign/flips.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/bound_form_kernel.h"
#include "assay/simd/convert_kernel.h"

namespace assay::inline v0_2::simd {

// D/T is counted in bins of an eighth of an octave, from 2^-16 to 2^16: bin b holds
// edge(b - 1) < D/T <= edge(b). D = T is the upper edge of bin kBinAtOne, so the checks in the bins
// above that one are flagged.
inline constexpr int kBinBits = 3, kBinOctaves = 16;
// Two bins more than the range has: one below it, and one above it.
inline constexpr int kRatioBins = (2 * kBinOctaves << kBinBits) + 2;
inline constexpr int kBinAtOne = kBinOctaves << kBinBits;
// The bins of flips after which D/T is not counted.
enum FlipBin : std::uint16_t {
  // The element became infinite or NaN, so the check is flagged.
  kBinNotFinite = kRatioBins,
  kBinMasked,  // the element's value did not change
  // The new D is too near to the threshold, or to a rounding. The caller has to sum again.
  kBinUnsure,
  // D is above the threshold, but confirmation finds every element inside its bound.
  kBinDismissed,
  kFlipBins,
};
// Added to a bin above the threshold if it is not certain that the element is outside its bound.
// The caller has to compare the element itself.
inline constexpr std::uint16_t kFlipDoubtful = 0x8000;

// Returns the bin of a ratio that is not NaN. `above` is true if D > T.
std::uint16_t ratio_bin(double ratio, bool above);

// One check, of a row sum or of the sum of a group of the row's columns, before the flips.
struct FlipCheck {
  const void* elements = nullptr;  // stored without gaps
  std::size_t n = 0;
  double expected = 0;  // the checksum, already rounded if `rounding` is set
  // The largest difference between stats.sum and a new summation.
  double guard = 0;
  const RoundSpec* rounding = nullptr;  // sums are rounded to this format before they are compared
  // The form of the threshold. It has no `branch`, and its per_absolute is 0.
  BoundForm form;
  OutputStats stats;      // statistics of the elements before the flip
  double second = 0;      // the second largest |c| of the elements
  int mantissa_bits = 0;  // number of mantissa bits of the elements' format
  double min_subnormal = 0;
  // For confirmation: accumulation adds at most this to an element's rounding error. So a change of
  // two ulps and three times this moves the element out of its bound. A value below 0 means no
  // confirmation.
  double element_error = -1;
};

// Writes the bin of the flip of bit bits[b] in element j to bins[b * stride + j], plus kFlipBins if
// that bit goes from 1 to 0. The storage is kF32, kF16 or kBf16. Before the flip, elements and sum
// must be finite. Returns true if any bin may be kBinUnsure or doubtful.
//
// If the bin is not kBinUnsure, the verdict is that of a new summation: D and T are then at least
// `guard` and 2^-16 T apart, which covers float64's errors and those of sums that compute ulps in
// float32.
//
// The tail of the rounding errors does not change if the element keeps its ulp. If the ulp changes,
// the tail moves, to first order, by the difference of log(sinh(x) / x) / s, where s is its slope
// and x = s ulp / 2. This is computed as x - log(2 x) for x above 1.5, and as x^2 / 6 below. The
// exact tail lies between two limits. If the ulp grows, it lies from the old tail to that plus the
// new half ulp, and (except for the budget) not below the new half ulp. If the ulp shrinks, it lies
// from the old tail less the old half ulp to the old tail. The limits hold because an error has one
// mode, at zero, so a larger error spreads the sum by at most itself.
bool flip_bins(Storage storage, const FlipCheck& check, const int* bits, std::size_t bit_count,
               std::size_t stride, std::uint16_t* bins);

inline constexpr double kFlipBand = 0x1p-16;
inline constexpr double kFlipTailKept = 0x1p-10, kFlipTailLarge = 1.5;
// If a flip takes all but this fraction of a sum of squares or of squared ulps away, the sum is
// computed again.
inline constexpr double kFlipCancelled = 0x1p-20;

}  // namespace assay::simd
