#include "assay/simd/golden_norms.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/golden_norms.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "assay/base/constants.h"
#include "assay/base/double_double.h"
#include "assay/simd/golden_exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

constexpr std::size_t kLanes = hn::MaxLanes(D());

// Returns the sum of all lanes, added in ascending order.
HWY_INLINE DoubleDouble lanes_sum(VectorPair x) {
  const D d;
  double high[kLanes], low[kLanes];
  hn::StoreU(x.high, d, high), hn::StoreU(x.low, d, low);
  DoubleDouble sum = 0;
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) sum = sum + DoubleDouble(high[i], low[i]);
  return sum;
}
HWY_INLINE VectorPair every_lane(const DoubleDouble& x) { return {number(x.high), number(x.low)}; }

// Loads the elements of an array from i on, and `fallback` beyond its end.
HWY_INLINE V load(const double* from, std::size_t i, std::size_t n, double fallback) {
  const D d;
  if (HWY_LIKELY(i + hn::Lanes(d) <= n)) return hn::LoadU(d, from + i);
  double rest[kLanes];
  for (std::size_t j = 0; j < hn::Lanes(d); ++j) rest[j] = i + j < n ? from[i + j] : fallback;
  return hn::LoadU(d, rest);
}
HWY_INLINE void store(V x, double* to, std::size_t i, std::size_t n) {
  const D d;
  if (HWY_LIKELY(i + hn::Lanes(d) <= n)) return hn::StoreU(x, d, to + i);
  double rest[kLanes];
  hn::StoreU(x, d, rest);
  std::copy_n(rest, n - i, to + i);
}

// The largest and the smallest element of a row. find_ends() returns false if an element is NaN.
// -infinity does not count as the smallest element if kTakesInfinity is set, and counts as NaN if
// not.
struct Ends {
  double most, least;
};
template <bool kTakesInfinity>
HWY_INLINE bool find_ends(std::size_t n, const double* x, Ends& ends) {
  const D d;
  const V none = number(-kInfinity);
  V most = none, least = number(kInfinity);
  M known = hn::Eq(none, none);
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    const V v = load(x, i, n, x[0]);
    known = hn::And(known, kTakesInfinity ? hn::Eq(v, v) : hn::Gt(v, none));
    most = hn::Max(most, v);
    least = hn::Min(least, hn::IfThenElse(hn::Eq(v, none), number(kInfinity), v));
  }
  ends = {hn::GetLane(hn::MaxOfLanes(d, most)), hn::GetLane(hn::MinOfLanes(d, least))};
  return hn::AllTrue(d, known);
}
// exp supports elements that lie at most this far below the largest one.
constexpr double kRange = 600;

HWY_INLINE VectorPair zero_where(M none, VectorPair x) {
  return {hn::IfThenZeroElse(none, x.high), hn::IfThenZeroElse(none, x.low)};
}

// Relative errors: 2^-76 for exp of the element, 2^-76 for exp in the sum, n 2^-102 for the
// additions of the sum, and 2^-100 for the quotient.
bool golden_softmax_impl(std::size_t n, const double* x, double* to, double* scratch) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  Ends ends;
  if (!find_ends<true>(n, x, ends)) return false;
  if (!(std::abs(ends.most) < kInfinity && ends.most - ends.least < kRange)) return false;
  const double* powers = power_table();
  const V minus_most = number(-ends.most), none = number(-kInfinity);
  VectorPair sum{number(0), number(0)};
  for (std::size_t i = 0; i < n; i += lanes) {
    const V v = load(x, i, n, -kInfinity);
    const M gone = hn::Eq(v, none);
    const VectorPair below = any_sum(hn::IfThenZeroElse(gone, v), minus_most);
    const VectorPair e = zero_where(gone, exp_pair<true>(powers, below));
    sum = pair_sum(sum, e);
    store(e.high, to, i, n);
    store(e.low, scratch, i, n);
  }
  const VectorPair inverse = every_lane(1 / lanes_sum(sum));
  const V error = number(0x1p-74 + static_cast<double>(n) * 0x1p-100);
  M sure = hn::Eq(none, none);
  for (std::size_t i = 0; i < n; i += lanes) {
    const V e = load(to, i, n, 0), e_low = load(scratch, i, n, 0);
    const VectorPair p = product(e, inverse.high);
    const V low = hn::MulAdd(e, inverse.low, hn::MulAdd(e_low, inverse.high, p.low));
    const Rounded y = rounded({p.high, low}, hn::Mul(p.high, error));
    sure = hn::And(sure, y.sure);
    store(y.value, to, i, n);
  }
  return hn::AllTrue(d, sure);
}

// factor x - max factor x has an error within 2^-84, because |factor x| is at most kMost + 600.
bool golden_exponentials_impl(std::size_t n, const double* x, double factor, double* to,
                              GoldenSum& of_all) {
  constexpr double kMost = 0x1p20;
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  Ends ends;
  if (!find_ends<false>(n, x, ends)) return false;
  const bool falls = factor < 0;
  const DoubleDouble most = exact_product(falls ? ends.least : ends.most, factor);
  const double least = (falls ? ends.most : ends.least) * factor;
  if (!(std::abs(most.high) < kMost && most.high - least < kRange)) return false;
  const double* powers = power_table();
  const VectorPair minus_most = every_lane(-most);
  const V by = number(factor), none = number(-kInfinity);
  VectorPair sum{number(0), number(0)};
  M sure = hn::Eq(none, none);
  for (std::size_t i = 0; i < n; i += lanes) {
    const V v = load(x, i, n, -kInfinity);
    const M gone = hn::Eq(v, none);
    const VectorPair below = pair_sum(product(hn::IfThenZeroElse(gone, v), by), minus_most);
    const VectorPair e = exp_pair<true>(powers, below);
    const Rounded y = rounded(e, 0x1p-75);
    sure = hn::And(sure, hn::Or(gone, y.sure));
    sum = pair_sum(sum, zero_where(gone, e));
    store(y.value, to, i, n);
  }
  const DoubleDouble total = lanes_sum(sum);
  of_all = {total.high, total.low, 0x1p-75 + static_cast<double>(n) * 0x1p-101};
  return hn::AllTrue(d, sure);
}

// Returns x minus the mean, with an error of 2^-104 (|x| + |mean|).
HWY_INLINE VectorPair centred(V x, VectorPair minus_mean) {
  const VectorPair sum = any_sum(x, minus_mean.high);
  return any_sum(sum.high, hn::Add(sum.low, minus_mean.low));
}

// Returns false if the error of this double-double computation leaves the rounding of an element in
// doubt. The errors that `relative` and `absolute` allow are those of this computation and as much
// again, because the slow way adds in another order. They are derived as follows:
// - The mean, and each x - mean, have an error of at most `off` = 2^-99 sum |x|. Each of the n
//   additions errs by at most 2^-103 sum |x|, and the sum of these errors is divided by n.
// - The relative error of the sum of squares is at most n 2^-102, because its terms are positive.
// - `length` is the divisor, the root of the mean square plus eps. The error of the mean adds 2 off
//   sum |x - mean| <= 2 off n length to the sum of squares.
// - The relative error of the root is half of that of the sum.
// - All other errors are below 2^-98.
bool golden_normalise_impl(const GoldenNorm& norm, std::size_t n, const double* x, double* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const auto count = static_cast<double>(n);
  const V zero = number(0);
  M sure = hn::Eq(zero, zero);
  VectorPair sum{zero, zero};
  V sizes = zero;
  for (std::size_t i = 0; i < n; i += lanes) {
    const V v = load(x, i, n, 0), size = hn::Abs(v);
    const M room = hn::And(hn::Gt(size, number(0x1p-200)), hn::Lt(size, number(0x1p200)));
    sure = hn::And(sure, hn::Or(room, hn::Eq(v, zero)));
    if (norm.centre) {
      sum = pair_sum(sum, {v, zero});
      sizes = hn::Add(sizes, size);
    }
  }
  if (!hn::AllTrue(d, sure)) return false;
  double off = 0;
  VectorPair minus_mean{zero, zero};
  if (norm.centre) {
    minus_mean = every_lane(-lanes_sum(sum) / count);
    off = hn::GetLane(hn::SumOfLanes(d, sizes)) * 0x1p-99;
  }

  VectorPair squares{zero, zero};
  for (std::size_t i = 0; i < n; i += lanes) {
    const V v = load(x, i, n, 0);
    const VectorPair c = norm.centre ? centred(v, minus_mean) : VectorPair{v, zero};
    VectorPair square = product(c.high, c.high);
    square.low = hn::MulAdd(hn::Add(c.high, c.high), c.low, square.low);
    // Beyond the end of the row the square is 0, and not the square of the mean.
    if (HWY_UNLIKELY(i + lanes > n)) {
      square = zero_where(hn::Ge(hn::Iota(d, static_cast<double>(i)), number(count)), square);
    }
    squares = pair_sum(squares, square);
  }
  const DoubleDouble length = sqrt(lanes_sum(squares) / count + DoubleDouble(norm.eps));
  if (!(length.high > 0)) return false;
  const DoubleDouble reciprocal = 1 / length;
  const VectorPair inverse = every_lane(reciprocal);
  const V relative = number(count * 0x1p-101 + 0x1p-97 + 4 * off * reciprocal.high);
  const V absolute = number(off * reciprocal.high);
  for (std::size_t i = 0; i < n; i += lanes) {
    const V v = load(x, i, n, 0);
    VectorPair y =
        pair_product(norm.centre ? centred(v, minus_mean) : VectorPair{v, zero}, inverse);
    V error = absolute;
    if (norm.weight != nullptr) {
      const V w = load(norm.weight, i, n, 0);
      y = pair_product(y, w);
      error = hn::Mul(error, hn::Abs(w));
    }
    error = hn::MulAdd(hn::Abs(y.high), relative, error);
    if (norm.bias != nullptr) {
      const V b = load(norm.bias, i, n, 0);
      y = pair_sum(y, {b, zero});
      error = hn::MulAdd(hn::Abs(b), number(0x1p-98), error);
    }
    const Rounded result = rounded(y, error);
    sure = hn::And(sure, result.sure);
    store(result.value, to, i, n);
  }
  return hn::AllTrue(d, sure);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(golden_softmax_impl);
HWY_EXPORT(golden_exponentials_impl);
HWY_EXPORT(golden_normalise_impl);

bool golden_softmax(std::size_t n, const double* x, double* to, double* scratch) {
  return HWY_DYNAMIC_DISPATCH(golden_softmax_impl)(n, x, to, scratch);
}

bool golden_exponentials(std::size_t n, const double* x, double factor, double* to,
                         GoldenSum& sum) {
  return HWY_DYNAMIC_DISPATCH(golden_exponentials_impl)(n, x, factor, to, sum);
}

bool golden_normalise(const GoldenNorm& norm, std::size_t n, const double* x, double* to) {
  return HWY_DYNAMIC_DISPATCH(golden_normalise_impl)(norm, n, x, to);
}

}  // namespace assay::simd
#endif
