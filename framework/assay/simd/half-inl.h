// float16 to float32, for every target alike. Compiled once a target.
#if defined(ASSAY_SIMD_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_HALF_INL_H_
#undef ASSAY_SIMD_HALF_INL_H_
#else
#define ASSAY_SIMD_HALF_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {

// `bits`: one float16 pattern a lane of 32 bits.
template <class DF, class VU>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<DF> half_to_float(DF df, VU bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<DF> du;
  // Highway 1.0.3 reads infinity and NaN as numbers where there is no instruction for this.
  // Exponent and mantissa are moved into place, and the exponent gets float32's bias. Of a
  // subnormal number the digits are put behind 2^-14, which is then taken away: float32 arithmetic
  // with subnormal numbers would take many times as long.
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
