// Numbers with random errors in the lanes of a vector, and the steps that they go through: struct
// Uncertain of machine/uncertain.h. Compiled once for each target.
#if defined(ASSAY_SIMD_UNCERTAIN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_UNCERTAIN_INL_H_
#undef ASSAY_SIMD_UNCERTAIN_INL_H_
#else
#define ASSAY_SIMD_UNCERTAIN_INL_H_
#endif

#include <hwy/highway.h>

#include "assay/simd/factors-inl.h"
#include "assay/simd/sum_errors.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace factors {
// The members of struct Uncertain, in the lanes of vectors. The variance is in twelfths. The grid
// is a power of two, and infinity for 0.
struct Numbers {
  V value, grid, mean, variance;
  M known, odd;

  // This constructor is written out, because the implicit one would be compiled for no target.
  HWY_INLINE Numbers() {}
  // Returns exact numbers. `grid` has their lowest bits.
  static HWY_INLINE Numbers exact(V value, V grid) {
    Numbers x;
    x.value = value;
    x.grid = grid;
    x.mean = x.variance = hn::Zero(D());
    x.known = every();
    x.odd = hn::Ne(value, hn::Zero(D()));
    return x;
  }
  static HWY_INLINE Numbers zero() { return exact(hn::Zero(D()), infinities()); }
};

// True if float64 holds numbers with digits from `leading` down to `low`: at most 53 digits.
HWY_INLINE M holds_digits(V leading, V low) { return hn::Le(leading, hn::Mul(low, all(0x1p52))); }

HWY_INLINE void add(Numbers& to, const Numbers& x) {
  const V low = hn::Min(to.grid, x.grid);
  const M finer = hn::Lt(x.grid, to.grid), coarser = hn::Lt(to.grid, x.grid);
  to.value = hn::Add(to.value, x.value);
  to.mean = hn::Add(to.mean, x.mean);
  to.variance = hn::Add(to.variance, x.variance);
  to.odd = hn::Or(hn::And(finer, x.odd), hn::And(coarser, to.odd));
  to.known = hn::And(to.known, x.known);
  to.grid = low;
  if (any_of(to.known)) {
    to.known = hn::And(to.known, holds_digits(leading_bit(to.value), low));
    to.grid = hn::IfThenElse(to.known, lowest_bit(to.value), low);
    to.odd = hn::And(hn::Or(to.known, to.odd), hn::Lt(to.grid, infinities()));
  }
}

HWY_INLINE void round_to_grid(Numbers& x, V unit, const RoundingMoments& by) {
  const M cut = hn::And(hn::Lt(x.grid, unit), hn::Ne(x.value, zeros()));
  if (!any_of(cut)) return;
  const M lost = hn::And(cut, hn::Lt(hn::Abs(x.value), hn::Mul(unit, all(by.lost_below))));
  const M rounded = hn::AndNot(lost, cut);
  const M tie = hn::And(x.odd, hn::Eq(hn::Add(x.grid, x.grid), unit));
  const auto by_grid = [&](const RoundingMoments::ByGrid& factors) HWY_ATTR {
    const V known = hn::IfThenElse(tie, all(factors.tie), all(factors.odd));
    return hn::IfThenElse(x.odd, known, all(factors.any));
  };
  // The factors are small integers or halves, so products with them are exact, and a fused
  // multiply-add has the same bits.
  const V square = hn::MulAdd(by_grid(by.grid_variance), hn::Mul(x.grid, x.grid),
                              hn::Mul(hn::Mul(unit, unit), all(by.unit_variance)));
  x.variance = hn::Add(x.variance, hn::IfThenElseZero(rounded, square));
  if (by.has_mean()) {
    V mean = hn::MulAdd(by_grid(by.grid_mean), x.grid, hn::Mul(unit, all(by.unit_mean)));
    if (by.has_sign) mean = hn::Xor(mean, hn::And(x.value, all(-0.0)));
    x.mean = hn::Add(x.mean, hn::IfThenElseZero(rounded, mean));
  }
  if (any_of(lost)) {
    const M positive = hn::Gt(x.value, zeros());
    const V size =
        hn::IfThenElse(positive, all(by.lost_rises ? 1 : 0), all(by.lost_falls ? -1 : 0));
    const V becomes = hn::Mul(unit, size);
    x.mean = hn::Add(x.mean, hn::IfThenElseZero(lost, hn::Sub(becomes, x.value)));
  }
  x.grid = hn::IfThenElse(cut, unit, x.grid);
  x.known = hn::AndNot(cut, x.known);
  x.odd = hn::AndNot(cut, x.odd);
}

HWY_INLINE void round(Numbers& x, const RoundingToFormat& to) {
  const V ulp = hn::Max(hn::Mul(leading_bit(x.value), all(to.epsilon)), all(to.least));
  round_to_grid(x, ulp, to.moments);
}

}  // namespace factors
}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_UNCERTAIN_INL_H_
