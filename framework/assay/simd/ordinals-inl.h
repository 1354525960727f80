// The number of representable values between two values, computed in the same way on every target.
// Compiled once for each target.
#if defined(ASSAY_SIMD_ORDINALS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_ORDINALS_INL_H_
#undef ASSAY_SIMD_ORDINALS_INL_H_
#else
#define ASSAY_SIMD_ORDINALS_INL_H_
#endif

#include <hwy/highway.h>

#include "assay/simd/ordinals.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Converts a whole number of up to 64 bits to float64, rounded once.
template <class D, class VU>
HWY_INLINE hn::Vec<D> to_float64(D d, VU x) {
  const hn::RebindToUnsigned<D> du;
  const auto low =
      hn::Or(hn::And(x, hn::Set(du, 0xffffffffu)), hn::BitCast(du, hn::Set(d, 0x1p52)));
  const auto high = hn::Or(hn::ShiftRight<32>(x), hn::BitCast(du, hn::Set(d, 0x1p84)));
  const auto upper = hn::Sub(hn::BitCast(d, high), hn::Set(d, 0x1p84 + 0x1p52));
  return hn::Add(upper, hn::BitCast(d, low));
}

// Returns the position of the magnitude x among the format's values. x is one of these values.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToUnsigned<D>> ordinal(D d, const Ordinals& of, hn::Vec<D> x) {
  const hn::RebindToUnsigned<D> du;
  const auto normal =
      hn::Sub(hn::ShiftRightSame(hn::BitCast(du, x), of.drop), hn::Set(du, of.rebias));
  if (of.drop == 0) return normal;  // for float64, the bits are the ordinal
  const auto magic = hn::Set(d, of.min_subnormal * 0x1p52);
  const auto small = hn::Sub(hn::BitCast(du, hn::Add(x, magic)), hn::BitCast(du, magic));
  return hn::IfThenElse(hn::RebindMask(du, hn::Lt(x, hn::Set(d, of.min_normal))), small, normal);
}

// Returns the distance, in representable values, of a and r, which are values of the format.
template <class D>
HWY_INLINE hn::Vec<D> ordinal_distance(D d, const Ordinals& of, hn::Vec<D> a, hn::Vec<D> r) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto oa = ordinal(d, of, hn::Abs(a)), orr = ordinal(d, of, hn::Abs(r));
  const auto opposite = hn::RebindMask(
      du, hn::TestBit(hn::BitCast(du, hn::Xor(a, r)), hn::Set(du, std::uint64_t{1} << 63)));
  const auto less = hn::Lt(hn::BitCast(di, oa), hn::BitCast(di, orr));
  const auto apart = hn::IfThenElse(hn::RebindMask(du, less), hn::Sub(orr, oa), hn::Sub(oa, orr));
  return to_float64(d, hn::IfThenElse(opposite, hn::Add(oa, orr), apart));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_ORDINALS_INL_H_
