// Double-double arithmetic on float64 vectors, for fast paths to a correctly rounded result: a
// number is the sum of two vectors. Functions that are documented as exact are exact on every
// target. The others fuse multiply-adds if the target has them, and every bound holds with and
// without fusing. This header is compiled once for each target. In scalars: base/double_double.h.
#if defined(ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#undef ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#else
#define ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

HWY_INLINE V number(double value) { return hn::Set(D(), value); }

struct VectorPair {
  V high, low;
};

// These functions return results without error. ordered_sum() returns a + b if |a| >= |b| or a = 0.
// If not, its result is within 2^-104 of the larger one. any_sum() returns a + b for any two
// numbers. product() returns a b if it is above 2^-960 and neither factor is above 2^960.
HWY_INLINE VectorPair ordered_sum(V a, V b) {
  const V sum = hn::Add(a, b);
  return {sum, hn::Sub(b, hn::Sub(sum, a))};
}
HWY_INLINE VectorPair any_sum(V a, V b) {
  const V sum = hn::Add(a, b), part = hn::Sub(sum, a);
  return {sum, hn::Add(hn::Sub(a, hn::Sub(sum, part)), hn::Sub(b, part))};
}
HWY_INLINE VectorPair product(V a, V b) {
  const V high = hn::Mul(a, b);
#if HWY_NATIVE_FMA
  return {high, hn::MulSub(a, b, high)};
#else
  // Dekker's product, with Veltkamp's halves of 26 bits.
  const V split = number(0x1p27 + 1), as = hn::Mul(a, split), bs = hn::Mul(b, split);
  const V ah = hn::Sub(as, hn::Sub(as, a)), bh = hn::Sub(bs, hn::Sub(bs, b));
  const V al = hn::Sub(a, ah), bl = hn::Sub(b, bh);
  const V crossed = hn::Add(hn::Mul(ah, bl), hn::Mul(al, bh));
  const V rest = hn::Add(hn::Sub(hn::Mul(ah, bh), high), crossed);
  return {high, hn::Add(rest, hn::Mul(al, bl))};
#endif
}
// Returns c - a b. It must be so small beside c that it is a float64. The result is exact then.
HWY_INLINE V remainder(V c, V a, V b) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(a, b, c);
#else
  const VectorPair p = product(a, b);
  return hn::Sub(hn::Sub(c, p.high), p.low);
#endif
}

// These functions have relative errors of at most 2^-101, but pair_sum() only if both numbers have
// the same sign.
HWY_INLINE VectorPair pair_sum(VectorPair a, VectorPair b) {
  const VectorPair sum = any_sum(a.high, b.high);
  return ordered_sum(sum.high, hn::Add(sum.low, hn::Add(a.low, b.low)));
}
HWY_INLINE VectorPair pair_product(VectorPair a, VectorPair b) {
  const VectorPair p = product(a.high, b.high);
  const V crossed = hn::MulAdd(a.high, b.low, hn::Mul(a.low, b.high));
  return ordered_sum(p.high, hn::Add(p.low, crossed));
}
HWY_INLINE VectorPair pair_product(VectorPair a, V b) {
  const VectorPair p = product(a.high, b);
  return ordered_sum(p.high, hn::MulAdd(a.low, b, p.low));
}

// Returns sum t_i x^i, for the terms t_i, by Horner's rule.
template <std::size_t kCount>
HWY_INLINE V terms_at(V x, const double (&terms)[kCount]) {
  V sum = number(terms[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, number(terms[i]));
  return sum;
}

// A result in the lanes of a vector, and the lanes in which it is correctly rounded.
struct Rounded {
  V value;
  M sure;
};

// Returns the rounded sum. A lane is sure if every number within `off` of the sum is rounded to the
// same value (Ziv, ACM TOMS 17(3), 1991). Rounding is monotone: if two sums are rounded to the same
// value, so is every number between them. `off` includes two more roundings of `low`, and is 0 if
// the sum is exact. NaN is never sure.
HWY_INLINE Rounded rounded(VectorPair x, V off) {
  const V up = hn::Add(x.high, hn::Add(x.low, off)), down = hn::Add(x.high, hn::Sub(x.low, off));
  return {up, hn::Eq(up, down)};
}
HWY_INLINE Rounded rounded(VectorPair x, double relative_error) {
  return rounded(x, hn::Mul(hn::Abs(x.high), number(relative_error)));
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
