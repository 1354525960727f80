// exp of float64 vectors to 2^-76, for the kernels of golden results. This header is compiled once
// for each target.
#if defined(ASSAY_SIMD_GOLDEN_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_GOLDEN_EXP_INL_H_
#undef ASSAY_SIMD_GOLDEN_EXP_INL_H_
#else
#define ASSAY_SIMD_GOLDEN_EXP_INL_H_
#endif

#include "assay/simd/double_double-inl.h"
#include "assay/simd/golden_tables.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// The parts of exp(x) = power (1 + series), with |series| < 2^-8.5.
struct ExpParts {
  VectorPair power, series;
};

// Computes exp(x) for |x.high| <= 600 and |x.low| <= 2^-52 |x.high|. x.low is read only if kHasLow
// is true.
//
// x = k log 2 / 128 + r, with |r| <= log 2 / 256 < 2^-8.5. log 2 / 128 is split after 36 bits. k is
// below 2^17, so k times the first part is exact. x.high minus that product is exact too, because
// both are multiples of 2^-61 and the difference is below 2^-8. The second part is below 2^-46, and
// k times it is below 2^-29. The rounding of this product and the rest of log 2 change r by less
// than 2^-80, if k is not 0.
//
// exp(r) - 1 = r + r^2 / 2 + t, with t = r^3 (1/6 + ... + r^4 / 5040) < 2^-28.1. The terms left out
// are below 2^-83. r + r^2 / 2 is exact except for digits below 2^-90. t is computed from r.high
// instead of r. Its relative error is within 7.6 2^-53, with and without fused multiply-adds, and
// one more rounding adds it to the rest. So the error of `series` is within 2^-77.5, and if k is 0,
// within r^2 2^-52 of |r|.
template <bool kHasLow>
HWY_INLINE ExpParts exp_parts(const double* powers, VectorPair x) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  constexpr double kSteps = 0x1.71547652b82fep+7;  // 128 / log 2
  constexpr double kHigh = 0x1.62e42fefap-8, kLow = 0x1.cf79abc9e3b3ap-47;
  constexpr double kTerms[] = {0x1.5555555555555p-3, 0x1.5555555555555p-5, 0x1.1111111111111p-7,
                               0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13};
  const V magic = number(0x1.8p52);
  const V shifted = hn::Add(hn::Mul(x.high, number(kSteps)), magic);
  const V k = hn::Sub(shifted, magic);
  // The whole number k also lies in the low bits of `shifted`.
  const auto bits = hn::BitCast(du, shifted);
  const auto index = hn::ShiftLeft<1>(hn::And(bits, hn::Set(du, kPowers - 1)));
  const auto at = hn::BitCast(di, index);
  const V table_high = hn::GatherIndex(d, powers, at),
          table_low = hn::GatherIndex(d, powers + 1, at);
  const V scale =
      hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(hn::ShiftRight<7>(bits), hn::Set(du, 1023))));
  const VectorPair power{hn::Mul(table_high, scale), hn::Mul(table_low, scale)};

  const V cut = hn::NegMulAdd(k, number(kHigh), x.high);
  VectorPair r = any_sum(cut, hn::Mul(k, number(-kLow)));
  if (kHasLow) r = ordered_sum(r.high, hn::Add(r.low, x.low));
  const VectorPair square = product(r.high, r.high);
  const V half = number(0.5);
  const VectorPair sum = ordered_sum(r.high, hn::Mul(half, square.high));
  const V t = hn::Mul(hn::Mul(square.high, r.high), terms_at(r.high, kTerms));
  // The derivative of r + r^2 / 2 is the factor of r.low.
  const V lower = hn::MulAdd(half, square.low, hn::MulAdd(r.low, r.high, r.low));
  return {power, {sum.high, hn::Add(hn::Add(sum.low, lower), t)}};
}

// Returns exp(x) with a relative error below 2^-76. This is the error of `series`, three roundings
// of the low part, which is below 2^-28 of the power, and the product of both low parts, which is
// left out and below 2^-82.
template <bool kHasLow>
HWY_INLINE VectorPair exp_pair(const double* powers, VectorPair x) {
  const ExpParts parts = exp_parts<kHasLow>(powers, x);
  const VectorPair& power = parts.power;
  const VectorPair first = product(power.high, parts.series.high);
  const VectorPair sum = ordered_sum(power.high, first.high);
  const V low = hn::Add(hn::Add(sum.low, first.low),
                        hn::MulAdd(power.high, parts.series.low,
                                   hn::MulAdd(power.low, parts.series.high, power.low)));
  return ordered_sum(sum.high, low);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_GOLDEN_EXP_INL_H_
