#include "assay/simd/uncertain_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/uncertain_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using M = hn::Mask<D>;
using Bits = hn::RebindToUnsigned<D>;

struct Numbers {
  V value, grid, mean, variance;
  M known, odd;
};

HWY_INLINE V octave(V x) {
  const auto exponent = hn::Set(Bits(), std::uint64_t{0x7ff} << 52);
  return hn::BitCast(D(), hn::And(hn::BitCast(Bits(), x), exponent));
}

// Returns the lowest bit of a number, or infinity for 0.
HWY_INLINE V lowest_bit(V x) {
  const D d;
  const V size = hn::Abs(x);
  const auto bits = hn::BitCast(Bits(), size), one = hn::Set(Bits(), 1);
  // The number without its lowest bit. A power of 2 has only its implicit bit, so it remains as it
  // is.
  const auto fraction = hn::And(bits, hn::Set(Bits(), (std::uint64_t{1} << 52) - 1));
  const V less = hn::BitCast(d, hn::And(bits, hn::Sub(bits, one)));
  const M is_power = hn::Eq(hn::BitCast(d, fraction), hn::Zero(d));
  const V lowest = hn::IfThenElse(is_power, size, hn::Sub(size, less));
  const auto infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  return hn::IfThenElse(hn::Eq(size, hn::Zero(d)), infinity, lowest);
}

HWY_INLINE Numbers add(const Numbers& a, const Numbers& b) {
  const D d;
  const V low = hn::Min(a.grid, b.grid), value = hn::Add(a.value, b.value);
  const V digits = hn::Mul(octave(value), hn::Set(d, 0x1p-52));
  const M known = hn::And(hn::And(a.known, b.known), hn::Le(digits, low));
  const M by_grid =
      hn::Or(hn::And(hn::Lt(a.grid, b.grid), a.odd), hn::And(hn::Lt(b.grid, a.grid), b.odd));
  const V grid = hn::IfThenElse(known, lowest_bit(value), low);
  const M has_grid = hn::Lt(grid, hn::Set(d, std::numeric_limits<double>::infinity()));
  return {value,
          grid,
          hn::Add(a.mean, b.mean),
          hn::Add(a.variance, b.variance),
          known,
          hn::And(has_grid, hn::Or(known, by_grid))};
}

HWY_INLINE void round(const UncertainStep& step, Numbers& x) {
  const D d;
  const auto zero = hn::Zero(d), one = hn::Set(d, 1), two = hn::Set(d, 2), half = hn::Set(d, 0.5);
  const V ulp =
      hn::Max(hn::Mul(octave(x.value), hn::Set(d, step.ulp_of_one)), hn::Set(d, step.least));
  const M rounds = hn::And(hn::Ne(x.value, zero), hn::Gt(ulp, x.grid));
  if (hn::AllFalse(d, rounds)) return;
  const M lost = hn::And(rounds, hn::Lt(hn::Abs(x.value), hn::Mul(ulp, half)));
  const V part = hn::Div(x.grid, ulp);
  const V square = hn::Div(hn::Mul(ulp, ulp), hn::Set(d, 12));
  const M tie = hn::And(x.odd, hn::Eq(part, half));
  const V times = hn::IfThenElse(x.odd, hn::Set(d, -4), two);
  const V by_digits = hn::Mul(square, hn::Add(one, hn::Mul(hn::Mul(times, part), part)));
  const V added = hn::IfThenElse(tie, hn::Mul(hn::Set(d, 3), square), by_digits);
  x.variance = hn::IfThenElse(hn::AndNot(lost, rounds), hn::Add(x.variance, added), x.variance);
  x.mean = hn::IfThenElse(lost, hn::Add(x.mean, hn::Sub(zero, x.value)), x.mean);
  x.grid = hn::IfThenElse(rounds, ulp, x.grid);
  x.known = hn::AndNot(rounds, x.known);
  x.odd = hn::AndNot(rounds, x.odd);
}

HWY_INLINE void store(const Numbers& x, const UncertainArrays& to, std::size_t i) {
  const D d;
  const auto one = hn::Set(d, 1);
  hn::StoreU(x.value, d, to.value + i);
  hn::StoreU(x.grid, d, to.grid + i);
  hn::StoreU(x.mean, d, to.mean + i);
  hn::StoreU(x.variance, d, to.variance + i);
  hn::StoreU(hn::IfThenElseZero(x.known, one), d, to.known + i);
  hn::StoreU(hn::IfThenElseZero(x.odd, one), d, to.odd + i);
}

// Loads two vectors of neighbouring numbers: those at even places and those at odd ones.
HWY_INLINE void load_pairs(const UncertainArrays& from, std::size_t i, Numbers& a, Numbers& b) {
  const D d;
  const auto zero = hn::Zero(d);
  const auto load = [&](const double* of, V& first, V& second)
                        HWY_ATTR { hn::LoadInterleaved2(d, of + i, first, second); };
  V first, second;
  load(from.value, a.value, b.value);
  load(from.grid, a.grid, b.grid);
  load(from.mean, a.mean, b.mean);
  load(from.variance, a.variance, b.variance);
  load(from.known, first, second);
  a.known = hn::Ne(first, zero);
  b.known = hn::Ne(second, zero);
  load(from.odd, first, second);
  a.odd = hn::Ne(first, zero);
  b.odd = hn::Ne(second, zero);
}

void set_exact_impl(std::size_t n, const double* values, const UncertainArrays& to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  const auto set = [&](const double* from, const UncertainArrays& at, std::size_t place) HWY_ATTR {
    const V value = hn::LoadU(d, from), zero = hn::Zero(d);
    store({value, lowest_bit(value), zero, zero, hn::Eq(zero, zero), hn::Ne(value, zero)}, at,
          place);
  };
  for (; i + lanes <= n; i += lanes) set(values + i, to, i);
  if (i == n) return;
  constexpr std::size_t kMost = hn::MaxLanes(d);
  double in[kMost] = {}, out[6][kMost] = {};
  std::copy(values + i, values + n, in);
  set(in, {out[0], out[1], out[2], out[3], out[4], out[5]}, 0);
  double* const arrays[] = {to.value, to.grid, to.mean, to.variance, to.known, to.odd};
  for (std::size_t a = 0; a < 6; ++a) std::copy_n(out[a], n - i, arrays[a] + i);
}

void add_pairs_impl(std::size_t n, const UncertainStep& step, bool rounds,
                    const UncertainArrays& numbers) {
  const D d;
  const std::size_t lanes = hn::Lanes(d), pairs = n / 2;
  const auto add_at = [&](const UncertainArrays& from, std::size_t i, const UncertainArrays& to,
                          std::size_t place) HWY_ATTR {
    Numbers a, b;
    load_pairs(from, i, a, b);
    Numbers sum = add(a, b);
    if (rounds) round(step, sum);
    store(sum, to, place);
  };
  std::size_t i = 0;
  for (; i + lanes <= pairs; i += lanes) add_at(numbers, 2 * i, numbers, i);
  double* const arrays[] = {numbers.value,    numbers.grid,  numbers.mean,
                            numbers.variance, numbers.known, numbers.odd};
  if (i < pairs) {
    constexpr std::size_t kMost = hn::MaxLanes(d);
    double in[6][2 * kMost] = {}, out[6][kMost] = {};
    for (std::size_t a = 0; a < 6; ++a) std::copy(arrays[a] + 2 * i, arrays[a] + 2 * pairs, in[a]);
    add_at({in[0], in[1], in[2], in[3], in[4], in[5]}, 0,
           {out[0], out[1], out[2], out[3], out[4], out[5]}, 0);
    for (std::size_t a = 0; a < 6; ++a) std::copy_n(out[a], pairs - i, arrays[a] + i);
  }
  if (n % 2 == 0) return;
  for (double* const array : arrays) array[pairs] = array[n - 1];
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(set_exact_impl);
HWY_EXPORT(add_pairs_impl);

void set_exact(std::size_t n, const double* values, const UncertainArrays& to) {
  HWY_DYNAMIC_DISPATCH(set_exact_impl)(n, values, to);
}

void add_pairs(std::size_t n, const UncertainStep& step, bool rounds,
               const UncertainArrays& numbers) {
  HWY_DYNAMIC_DISPATCH(add_pairs_impl)(n, step, rounds, numbers);
}

}  // namespace assay::simd
#endif
