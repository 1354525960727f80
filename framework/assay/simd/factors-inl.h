// Products of factors in the lanes of vectors, and the powers of two of numbers. Compiled once for
// each target.
#if defined(ASSAY_SIMD_FACTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_FACTORS_INL_H_
#undef ASSAY_SIMD_FACTORS_INL_H_
#else
#define ASSAY_SIMD_FACTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>

#include "assay/simd/factors.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace factors {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kFactorColumns>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
constexpr std::size_t kLanes = hn::MaxLanes(D());

HWY_INLINE V all(double x) { return hn::Set(D(), x); }
HWY_INLINE V zeros() { return hn::Zero(D()); }
HWY_INLINE V infinities() { return all(std::numeric_limits<double>::infinity()); }
HWY_INLINE bool any_of(M mask) { return !hn::AllFalse(D(), mask); }
HWY_INLINE M none() { return hn::Lt(zeros(), zeros()); }
HWY_INLINE M every() { return hn::Eq(zeros(), zeros()); }

// Returns 2^floor(log2 |x|) for a normal number x, and 0 for 0.
HWY_INLINE V leading_bit(V x) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(D(), hn::And(hn::BitCast(du, x), hn::Set(du, std::uint64_t{0x7ff} << 52)));
}
// Returns the largest power of two that divides a number, or infinity for 0.
HWY_INLINE V lowest_bit(V x) {
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto fraction = hn::And(bits, hn::Set(du, (std::uint64_t{1} << 52) - 1));
  const auto lowest = hn::And(fraction, hn::Sub(hn::Zero(du), fraction));
  const V without = hn::BitCast(D(), hn::Xor(bits, lowest));
  const V bit = hn::Abs(hn::Sub(x, without));  // 0 if the number is a power of two
  const V found = hn::IfThenElse(hn::Eq(bit, zeros()), hn::Abs(x), bit);
  return hn::IfThenElse(hn::Eq(x, zeros()), infinities(), found);
}

// Number of vectors of sums that are computed at once, so that the additions of one fill the
// waiting times of another.
constexpr std::size_t kStreams = 2;
constexpr std::size_t kParts = kFactorColumns / kLanes;

// Reads the factors of kStreams vectors of sums, and returns their products.
struct Products {
  SumFactors a[kStreams];  // a row
  SumFactors b[kStreams];  // the vector's columns

  HWY_INLINE Products() : a(), b() {}
  // Selects the factors of stream s. `at` counts the vectors of sums: each row of k factors of `a`
  // has kParts vectors of columns of `b`. Returns the first column of the selected vector.
  HWY_INLINE std::size_t take(std::size_t s, std::int64_t at, std::int64_t k,
                              const SumFactors& of_a, const SumFactors& of_b) {
    const std::int64_t row = at / static_cast<std::int64_t>(kParts) * k;
    const std::size_t column = static_cast<std::size_t>(at) % kParts * kLanes;
    a[s] = {of_a.value + row, of_a.lowest_bit + row, of_a.leading_bit + row};
    b[s] = {of_b.value + column, of_b.lowest_bit + column, of_b.leading_bit + column};
    return column;
  }
  HWY_INLINE V a_value(std::size_t s, std::int64_t k) const { return all(a[s].value[k]); }
  HWY_INLINE V b_value(std::size_t s, std::int64_t k) const {
    return hn::LoadU(D(), b[s].value + k * kFactorColumns);
  }
  HWY_INLINE V value(std::size_t s, std::int64_t k) const {
    return hn::Mul(a_value(s, k), b_value(s, k));
  }
  HWY_INLINE V lowest_bit(std::size_t s, std::int64_t k) const {
    return hn::Mul(all(a[s].lowest_bit[k]), hn::LoadU(D(), b[s].lowest_bit + k * kFactorColumns));
  }
  HWY_INLINE V leading_bit(std::size_t s, std::int64_t k) const {
    return hn::Mul(all(a[s].leading_bit[k]), hn::LoadU(D(), b[s].leading_bit + k * kFactorColumns));
  }
};

}  // namespace factors
}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_FACTORS_INL_H_
