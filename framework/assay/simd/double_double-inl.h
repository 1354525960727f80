// Double-double arithmetic on float64 vectors, for quick ways to a correctly rounded result: a
// number is the sum of two vectors. What is said to be exact is so on every target; the rest fuses
// multiply-adds where the target has them, and every bound holds with and without. This header is
// compiled once for each target. In scalars: base/double_double.h.
#if defined(ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#undef ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#else
#define ASSAY_SIMD_DOUBLE_DOUBLE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;

HWY_INLINE V number(double value) { return hn::Set(D(), value); }

struct VectorPair {
  V high, low;
};

// a + b where |a| >= |b| or a = 0 (else within 2^-104 of the larger), and of any two; a b where
// that is above 2^-960 and neither is above 2^960. Exact.
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
  // Dekker's, with Veltkamp's halves of 26 bits.
  const V split = number(0x1p27 + 1), as = hn::Mul(a, split), bs = hn::Mul(b, split);
  const V ah = hn::Sub(as, hn::Sub(as, a)), bh = hn::Sub(bs, hn::Sub(bs, b));
  const V al = hn::Sub(a, ah), bl = hn::Sub(b, bh);
  const V crossed = hn::Add(hn::Mul(ah, bl), hn::Mul(al, bh));
  const V rest = hn::Add(hn::Sub(hn::Mul(ah, bh), high), crossed);
  return {high, hn::Add(rest, hn::Mul(al, bl))};
#endif
}
// c - a b where that is small beside c and so a float64; then it is exact.
HWY_INLINE V remainder(V c, V a, V b) {
#if HWY_NATIVE_FMA
  return hn::NegMulAdd(a, b, c);
#else
  const VectorPair p = product(a, b);
  return hn::Sub(hn::Sub(c, p.high), p.low);
#endif
}

// Relative errors of at most 2^-101, of the sum where no signs differ.
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

// sum t_i x^i by Horner's rule.
template <std::size_t kCount>
HWY_INLINE V terms_at(V x, const double (&terms)[kCount]) {
  V sum = number(terms[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, number(terms[i]));
  return sum;
}

// A result, and where it is right.
struct Rounded {
  V value;
  M sure;
};

// The sum rounded, and where every number within `off` of it is rounded so (Ziv, ACM TOMS 17(3),
// 1991): rounding is monotone, so that what lies between two sums is rounded to what both are where
// they are the same. `off` has room for two more roundings of `low`, and is 0 where the sum is
// exact. NaN is never sure.
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
