#include "assay/simd/flips_kernel.h"

#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/flips_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "assay/simd/half-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr double kLog2 = std::numbers::ln2;
using DU = hn::RebindToUnsigned<D>;
using D32 = hn::Rebind<std::uint32_t, D>;
using V32 = hn::Vec<D32>;

template <Storage kStorage>
HWY_INLINE V32 load_bits(const unsigned char* p) {
  if constexpr (kStorage == Storage::kF32) {
    return hn::LoadU(D32(), reinterpret_cast<const std::uint32_t*>(p));
  } else {
    return hn::PromoteTo(D32(), hn::LoadU(hn::Rebind<std::uint16_t, D>(),
                                          reinterpret_cast<const std::uint16_t*>(p)));
  }
}

template <Storage kStorage>
HWY_INLINE V value_of(V32 bits) {
  const D d;
  const hn::Rebind<float, D> df;
  if constexpr (kStorage == Storage::kF32) {
    return hn::PromoteTo(d, hn::BitCast(df, bits));
  } else if constexpr (kStorage == Storage::kBf16) {
    return hn::PromoteTo(d, hn::BitCast(df, hn::ShiftLeft<16>(bits)));
  } else {
    return hn::PromoteTo(d, half_to_float(df, bits));
  }
}

// Returns 2^floor(log2 |x|), or `least` if that is larger.
HWY_INLINE V power_of(V x, V least) {
  const D d;
  const auto mask = hn::Set(DU(), std::uint64_t{0x7ff0000000000000});
  return hn::Max(hn::BitCast(d, hn::And(hn::BitCast(DU(), x), mask)), least);
}

// Rounds x to nearest even: adding 1.5 2^52 quanta and subtracting them again leaves whole quanta.
struct Rounder {
  V quantum_scale, min_subnormal, max_finite;
  explicit HWY_INLINE Rounder(const RoundSpec& spec)
      : quantum_scale(
            hn::Set(D(), spec.drop >= 52
                             ? 1.0
                             : 1.0 / static_cast<double>(std::uint64_t{1} << (52 - spec.drop)))),
        min_subnormal(hn::Set(D(), spec.min_subnormal)),
        max_finite(hn::Set(D(), spec.max_finite)) {}
  HWY_INLINE V operator()(V x) const {
    const D d;
    const V quantum = hn::Max(hn::Mul(power_of(x, hn::Zero(d)), quantum_scale), min_subnormal);
    const V shift = hn::Mul(quantum, hn::Set(d, 0x1.8p52));
    const V r = hn::Sub(hn::Add(x, shift), shift);
    const V infinity = hn::CopySign(hn::BitCast(d, hn::Set(DU(), std::uint64_t{0x7ff0} << 48)), x);
    return hn::IfThenElse(hn::Gt(hn::Abs(r), max_finite), infinity, r);
  }
};

// All values of a check that do not depend on the element, in vectors.
template <bool kRounded, bool kVariance>
struct Check {
  V sum, expected, guard, constant, per_largest, largest, second, kappa, ulp_weight, half_ulps;
  V deviations, accumulation, per_square, per_ulp_square, ulps, ulp_square, square, ulp_scale,
      least;
  V lost_ulps, lost_squares, element_error, tail, slope, per_slope, log_slope, kept, tail_from;
  bool confirms, has_tail;
  Rounder round;

  explicit HWY_INLINE Check(const FlipCheck& c)
      : round(c.rounding != nullptr ? *c.rounding : RoundSpec{0, 0, 0, 0}) {
    const D d;
    const BoundForm& form = c.form;
    const OutputStats& s = c.stats;
    const double scale = 1.0 / static_cast<double>(std::uint64_t{1} << c.mantissa_bits);
    sum = hn::Set(d, s.sum);
    expected = hn::Set(d, c.expected);
    guard = hn::Set(d, c.guard);
    constant = hn::Set(d, form.constant);
    per_largest = hn::Set(d, form.per_largest);
    largest = hn::Set(d, s.largest);
    second = hn::Set(d, c.second);
    kappa = hn::Set(d, form.kappa);
    ulp_weight = hn::Set(d, form.ulp_weight);
    half_ulps = hn::Set(d, form.half_ulps);
    accumulation = hn::Set(d, form.accumulation);
    per_square = hn::Set(d, form.per_square);
    ulps = hn::Set(d, s.ulp);
    ulp_square = hn::Set(d, s.ulp_square);
    square = hn::Set(d, s.square);
    deviations = hn::Set(d, form.deviations);
    per_ulp_square = hn::Set(d, form.per_ulp_square);
    ulp_scale = hn::Set(d, scale);
    least = hn::Set(d, c.min_subnormal / scale);
    // If less than this is left of the sum of squares or of squared ulps, the sum must be computed
    // again. A threshold that does not use a sum may lose any part of it.
    lost_ulps = hn::Set(d, form.uses_sums() ? kFlipCancelled * s.ulp_square : -1e300);
    lost_squares = hn::Set(d, form.per_square > 0 ? kFlipCancelled * s.square : -1e300);
    element_error = hn::Set(d, 3 * c.element_error);
    confirms = c.element_error >= 0;
    has_tail = form.uses_tail() && !std::isnan(s.tail);
    tail = hn::Set(d, s.tail);
    kept = hn::Set(d, kFlipTailKept);
    tail_from = hn::Set(d, form.tail_from);
    slope = hn::Set(d, s.tail_slope);
    per_slope = hn::Set(d, 1 / s.tail_slope);
    log_slope = hn::Set(d, std::log(2 * s.tail_slope));
  }

  // Returns the part of an element with the half ulp h in the tail: an approximation of log(sinh(s
  // h) / (s h)) / s for a power of two h, with the slope s. The comment of flip_bins() explains it.
  HWY_INLINE V tail_part(V h) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const V x = hn::Mul(slope, h);
    const auto exponent =
        hn::Sub(hn::BitCast(di, hn::ShiftRight<52>(hn::BitCast(DU(), h))), hn::Set(di, 1023));
    const V log = hn::MulAdd(hn::ConvertTo(d, exponent), hn::Set(d, kLog2), log_slope);
    const V large = hn::NegMulAdd(log, per_slope, h);
    const V small = hn::Mul(hn::Mul(x, h), hn::Set(d, 1.0 / 6));
    return hn::IfThenElse(hn::Gt(x, hn::Set(d, kFlipTailLarge)), large, small);
  }

  HWY_INLINE V ulp_of(V value) const { return hn::Mul(power_of(value, least), ulp_scale); }

  // Returns the bin of the check after an element changes from `before`, whose ulp is old_ulp, to
  // `after`. Marks the lanes that need a closer look in `special`.
  template <class M>
  HWY_INLINE hn::Vec<DU> bin(V before, V old_ulp, V after, M& special) const {
    const D d;
    const DU du;
    const V zero = hn::Zero(d);
    const V infinity = hn::BitCast(d, hn::Set(du, std::uint64_t{0x7ff0} << 48));
    const V delta = hn::Sub(after, before), new_sum = hn::Add(sum, delta);
    V difference;
    auto unsure = hn::FirstN(d, 0);
    if constexpr (kRounded) {
      const V low = round(hn::Sub(new_sum, guard)), high = round(hn::Add(new_sum, guard));
      difference = hn::Abs(hn::Sub(low, expected));
      unsure = hn::Ne(low, high);
    } else {
      difference = hn::Abs(hn::Sub(new_sum, expected));
    }
    // Computes BoundForm::threshold() with the statistics after the change.
    const V size = hn::Abs(after);
    V threshold = hn::MulAdd(
        per_largest,
        hn::Max(hn::IfThenElse(hn::Eq(hn::Abs(before), largest), second, largest), size), constant);
    V new_ulp = zero;
    // The exact threshold may be smaller by `less` or larger by `more`.
    V less = zero, more = zero;
    if constexpr (kVariance) {
      new_ulp = ulp_of(after);
      const V u2 = hn::MulAdd(new_ulp, new_ulp, hn::NegMulAdd(old_ulp, old_ulp, ulp_square));
      const V u1 = hn::Add(hn::Sub(ulps, old_ulp), new_ulp);
      unsure = hn::Or(unsure, hn::Lt(u2, lost_ulps));
      const V s2 = hn::MulAdd(after, after, hn::NegMulAdd(before, before, square));
      unsure = hn::Or(unsure, hn::Lt(s2, lost_squares));
      V rounding = hn::Min(hn::Mul(kappa, hn::Sqrt(hn::Mul(ulp_weight, hn::Max(u2, zero)))),
                           hn::Mul(half_ulps, u1));
      const V variance = hn::MulAdd(per_square, hn::Max(s2, zero),
                                    hn::MulAdd(per_ulp_square, hn::Max(u2, zero), accumulation));
      const V sums = hn::Mul(deviations, hn::Sqrt(variance));
      threshold = hn::Add(threshold, sums);
      if (has_tail) {
        const auto by_bound = hn::Le(difference, hn::Mul(tail_from, hn::Add(threshold, rounding)));
        const auto larger = hn::Gt(new_ulp, old_ulp), same_ulp = hn::Eq(new_ulp, old_ulp);
        const V half = hn::Mul(half_ulps, new_ulp);
        const V moved =
            hn::Add(tail, hn::Sub(tail_part(half), tail_part(hn::Mul(half_ulps, old_ulp))));
        const V low = hn::IfThenElse(larger, hn::Max(tail, hn::NegMulAdd(half, kept, half)),
                                     hn::NegMulAdd(half_ulps, old_ulp, tail));
        const V high = hn::IfThenElse(larger, hn::Min(hn::Add(half, tail), rounding), tail);
        const V between = hn::Max(low, hn::Min(high, moved));
        const auto known = hn::Or(same_ulp, by_bound);
        less = hn::IfThenElse(known, zero, hn::Sub(between, low));
        more = hn::IfThenElse(known, zero, hn::Max(hn::Sub(high, between), zero));
        rounding = hn::IfThenElse(by_bound, rounding, hn::IfThenElse(same_ulp, tail, between));
      }
      threshold = hn::Add(threshold, rounding);
    }
    const V apart = hn::Sub(difference, threshold);
    const V band = hn::Set(d, kFlipBand);
    const V margin = kRounded ? hn::Mul(band, threshold) : hn::MulAdd(band, threshold, guard);
    unsure = hn::Or(unsure, hn::And(hn::Le(apart, hn::Add(margin, more)),
                                    hn::Le(hn::Neg(apart), hn::Add(margin, less))));
    const auto above = hn::Gt(difference, threshold);
    // The bin is made of the exponent and the first mantissa bits of the ratio. A ratio at the
    // upper edge belongs to its bin.
    const V least_ratio = hn::Set(d, 0x1p-17);
    V ratio = hn::Max(hn::Min(hn::Div(difference, threshold), hn::Set(d, 0x1p17)), least_ratio);
    ratio = hn::IfThenElse(hn::Eq(difference, zero), least_ratio, ratio);
    ratio = hn::IfThenElse(above, hn::Max(ratio, hn::Set(d, 0x1.000002p0)),
                           hn::Min(ratio, hn::Set(d, 1.0)));
    const auto lowest = hn::Set(du, (std::uint64_t{1023 - kBinOctaves} << kBinBits) - 1);
    auto result = hn::ShiftRight<52 - kBinBits>(
        hn::Sub(hn::BitCast(du, ratio), hn::Set(du, std::uint64_t{1})));
    result = hn::Sub(hn::Max(result, lowest), lowest);
    result = hn::Min(result, hn::Set(du, std::uint64_t{kRatioBins - 1}));
    if (confirms) {
      const V allowed = hn::MulAdd(old_ulp, hn::Set(d, 2.0), element_error);
      const auto certain = hn::Gt(hn::Abs(delta), allowed);
      const auto doubtful = hn::And(above, hn::Not(certain));
      result = hn::IfThenElse(hn::RebindMask(du, doubtful),
                              hn::Or(result, hn::Set(du, std::uint64_t{kFlipDoubtful})), result);
      special = hn::Or(special, doubtful);
    }
    result =
        hn::IfThenElse(hn::RebindMask(du, unsure), hn::Set(du, std::uint64_t{kBinUnsure}), result);
    const auto finite = hn::Lt(size, infinity);
    const auto same = hn::Eq(after, before);
    result = hn::IfThenElse(hn::RebindMask(du, finite), result,
                            hn::Set(du, std::uint64_t{kBinNotFinite}));
    result =
        hn::IfThenElse(hn::RebindMask(du, same), hn::Set(du, std::uint64_t{kBinMasked}), result);
    // Marks too many lanes at times. The caller reads their bins.
    special = hn::Or(special, unsure);
    return result;
  }
};

template <Storage kStorage, bool kRounded, bool kVariance>
HWY_INLINE bool flip_bins_with(const FlipCheck& c, const int* bits, std::size_t bit_count,
                               std::size_t stride, std::uint16_t* bins) {
  constexpr std::size_t kBytes = kStorage == Storage::kF32 ? 4 : 2;
  const D d;
  const D32 d32;
  const hn::Rebind<std::uint16_t, D> d16;
  const std::size_t lanes = hn::Lanes(d);
  const Check<kRounded, kVariance> check(c);
  auto special = hn::FirstN(d, 0);
  const auto* bytes = static_cast<const unsigned char*>(c.elements);
  unsigned char padded[hn::MaxLanes(D()) * 4] = {};
  std::uint16_t last[hn::MaxLanes(D())];
  for (std::size_t j = 0; j < c.n; j += lanes) {
    const std::size_t count = std::min(lanes, c.n - j);
    const unsigned char* from = bytes + j * kBytes;
    if (count < lanes) {
      for (std::size_t i = 0; i < lanes; ++i) {
        std::memcpy(padded + i * kBytes, from + (i < count ? i : 0) * kBytes, kBytes);
      }
      from = padded;
    }
    const V32 old_bits = load_bits<kStorage>(from);
    const V before = value_of<kStorage>(old_bits);
    V old_ulp = hn::Zero(d);
    if constexpr (kVariance) old_ulp = check.ulp_of(before);
    for (std::size_t b = 0; b < bit_count; ++b) {
      const V after =
          value_of<kStorage>(hn::Xor(old_bits, hn::Set(d32, std::uint32_t{1} << bits[b])));
      const auto bin = hn::TruncateTo(d32, check.bin(before, old_ulp, after, special));
      const V32 was_set = hn::And(hn::ShiftRightSame(old_bits, bits[b]), hn::Set(d32, 1u));
      const V32 down = hn::Mul(was_set, hn::Set(d32, std::uint32_t{kFlipBins}));
      const auto out = hn::TruncateTo(d16, hn::Add(bin, down));
      if (count == lanes) {
        hn::StoreU(out, d16, bins + b * stride + j);
      } else {
        hn::StoreU(out, d16, last);
        std::memcpy(bins + b * stride + j, last, count * sizeof *last);
      }
    }
  }
  return !hn::AllFalse(d, special);
}

template <Storage kStorage>
HWY_INLINE bool flip_bins_of(const FlipCheck& c, const int* bits, std::size_t bit_count,
                             std::size_t stride, std::uint16_t* bins) {
  const bool variance = c.form.uses_sums() || c.element_error >= 0;
  if (c.rounding != nullptr) {
    return variance ? flip_bins_with<kStorage, true, true>(c, bits, bit_count, stride, bins)
                    : flip_bins_with<kStorage, true, false>(c, bits, bit_count, stride, bins);
  }
  return variance ? flip_bins_with<kStorage, false, true>(c, bits, bit_count, stride, bins)
                  : flip_bins_with<kStorage, false, false>(c, bits, bit_count, stride, bins);
}

bool flip_bins_impl(Storage storage, const FlipCheck& c, const int* bits, std::size_t bit_count,
                    std::size_t stride, std::uint16_t* bins) {
  switch (storage) {
    case Storage::kF32:
      return flip_bins_of<Storage::kF32>(c, bits, bit_count, stride, bins);
    case Storage::kF16:
      return flip_bins_of<Storage::kF16>(c, bits, bit_count, stride, bins);
    default:
      return flip_bins_of<Storage::kBf16>(c, bits, bit_count, stride, bins);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(flip_bins_impl);

bool flip_bins(Storage storage, const FlipCheck& check, const int* bits, std::size_t bit_count,
               std::size_t stride, std::uint16_t* bins) {
  return HWY_DYNAMIC_DISPATCH(flip_bins_impl)(storage, check, bits, bit_count, stride, bins);
}

std::uint16_t ratio_bin(double ratio, bool above) {
  double r = std::min(std::max(ratio, 0x1p-17), 0x1p17);
  r = above ? std::max(r, 0x1.000002p0) : std::min(r, 1.0);
  std::uint64_t bits;
  std::memcpy(&bits, &r, sizeof bits);
  const std::uint64_t bin = (bits - 1) >> (52 - kBinBits);
  const std::uint64_t lowest = (std::uint64_t{1023 - kBinOctaves} << kBinBits) - 1;
  return static_cast<std::uint16_t>(
      std::min<std::uint64_t>(std::max(bin, lowest) - lowest, kRatioBins - 1));
}

}  // namespace assay::simd
#endif
