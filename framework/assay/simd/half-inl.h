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
  // Exponent and mantissa are moved into place and scaled by 2^112, exactly, subnormals too.
  const auto size = hn::And(bits, hn::Set(du, 0x7fffu));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000u)));
  const auto scaled =
      hn::BitCast(du, hn::Mul(hn::BitCast(df, hn::ShiftLeft<13>(size)), hn::Set(df, 0x1p112f)));
  const auto special = hn::Or(hn::ShiftLeft<13>(size), hn::Set(du, 0x7f800000u));
  const auto is_special = hn::Gt(size, hn::Set(du, 0x7bffu));
  return hn::BitCast(df, hn::Or(sign, hn::IfThenElse(is_special, special, scaled)));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_HALF_INL_H_
