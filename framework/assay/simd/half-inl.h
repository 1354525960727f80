// Converts float16 to float32, in the same way on every target. Compiled once for each target.
#if defined(ASSAY_SIMD_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_HALF_INL_H_
#undef ASSAY_SIMD_HALF_INL_H_
#else
#define ASSAY_SIMD_HALF_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Converts float16 to float32. `bits` has one float16 pattern in each 32-bit lane.
template <class DF, class VU>
HWY_INLINE hn::Vec<DF> half_to_float(DF df, VU bits) {
  const hn::RebindToUnsigned<DF> du;
  // If there is no instruction for this, Highway 1.0.3 reads infinity and NaN as numbers. So
  // exponent and mantissa are moved into place here, and the exponent gets float32's bias. The
  // digits of a subnormal number are placed behind 2^-14, which is then subtracted: float32
  // arithmetic with subnormal numbers would take many times as long.
  const auto size = hn::And(bits, hn::Set(du, 0x7fffu));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto moved = hn::ShiftLeft<13>(size);
  const auto normal = hn::Add(moved, hn::Set(du, 112u << 23));
  const auto above = hn::BitCast(df, hn::Add(moved, hn::Set(du, 113u << 23)));
  const auto subnormal = hn::BitCast(du, hn::Sub(above, hn::Set(df, 0x1p-14f)));
  const auto is_normal = hn::Gt(size, hn::Set(du, 0x3ffu));
  const auto scaled = hn::IfThenElse(is_normal, normal, subnormal);
  const auto special = hn::Or(hn::ShiftLeft<13>(size), hn::Set(du, 0x7f800000u));
  const auto is_special = hn::Gt(size, hn::Set(du, 0x7bffu));
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(is_special, special, scaled)));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_HALF_INL_H_
