#include "assay/simd/digits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/digits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int kMostLanes = 64;

// Statistics of some vectors of numbers. The last digit of a number is its last bit that is 1, as a
// power of two.
struct Reading {
  bool is_whole;     // true if each number and its last digit are 0 or normal
  double squares;    // the largest sum of the squares of a lane's elements
  double lowest;     // smallest last digit of an element, or infinity if all are 0
  std::int64_t gap;  // largest difference of the exponents of an element's first and last digit
};

// Reads vectors in periods: kPeriod vectors hold a whole number of rows of lanes. Each vector of a
// period has its own sum of squares, so that every place in the sum belongs to one lane.
template <int kPeriod>
HWY_INLINE Reading read(const double* HWY_RESTRICT values, std::int64_t vectors,
                        std::int64_t lanes) {
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  using V = hn::Vec<decltype(d)>;
  const auto width = static_cast<std::int64_t>(hn::Lanes(d));
  const V infinity = hn::Inf(d), zero = hn::Zero(d);
  const auto one = hn::Set(du, 1), fraction = hn::Set(du, 0xfffffffffffff);
  const auto exponent_of_1 = hn::Set(du, 0x3ff0000000000000);
  V squares[kPeriod], lowest = infinity, gap = hn::Set(d, 1.0);
  ASSAY_UNROLL
  for (int v = 0; v < kPeriod; ++v) squares[v] = zero;
  for (std::int64_t i = 0; i < vectors; i += kPeriod) {
    ASSAY_UNROLL
    for (int v = 0; v < kPeriod; ++v) {
      const V size = hn::Abs(hn::LoadU(d, values + (i + v) * width));
      const auto word = hn::BitCast(du, size);
      // The number without its last digit. If the fraction is 0, the leading bit is the only digit.
      const V rest = hn::BitCast(d, hn::And(word, hn::Sub(word, one)));
      const auto only = hn::RebindMask(d, hn::Eq(hn::And(word, fraction), hn::Zero(du)));
      const V last = hn::Sub(size, hn::IfThenZeroElse(only, rest));
      squares[v] = hn::Add(squares[v], hn::Mul(size, size));
      lowest = hn::Min(lowest, hn::IfThenElse(hn::Eq(last, zero), infinity, last));
      // The difference of two exponents, stored as the exponent of a number of at least 1.
      const auto above = hn::Sub(word, hn::BitCast(du, last));
      gap = hn::Max(gap, hn::BitCast(d, hn::Add(above, exponent_of_1)));
    }
  }
  double sums[kPeriod * hn::MaxLanes(decltype(d)())];
  ASSAY_UNROLL
  for (int v = 0; v < kPeriod; ++v) hn::StoreU(squares[v], d, sums + v * width);
  Reading r = {true, 0, hn::GetLane(hn::MinOfLanes(d, lowest)), 0};
  r.is_whole = r.lowest >= std::numeric_limits<double>::min();
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    double sum = 0;
    for (std::int64_t at = lane; at < kPeriod * width; at += lanes) sum += sums[at];
    r.is_whole = r.is_whole && std::isfinite(sum);  // a finite sum has only finite elements
    r.squares = std::max(r.squares, sum);
  }
  const auto first = std::bit_cast<std::uint64_t>(hn::GetLane(hn::MaxOfLanes(d, gap)));
  r.gap = static_cast<std::int64_t>(first >> 52) - 0x3ff;
  return r;
}

// Computes the digits of elements that may be NaN, infinite or subnormal, one by one. `norm` gets
// the square of the norm.
Digits one_by_one(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad) {
  Digits digits;
  double squares[kMostLanes] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      double& x = values[k * lanes + lane];
      if (!std::isfinite(x)) x = 0, bad[lane] = 1;
      if (x == 0) continue;
      squares[lane] += x * x;
      const auto word = std::bit_cast<std::uint64_t>(x);
      const std::uint64_t fraction = word & 0xfffffffffffff;
      const int exponent = static_cast<int>(word >> 52 & 0x7ff);
      const std::uint64_t significand = exponent == 0 ? fraction : fraction | 0x10000000000000;
      const int zeros = std::countr_zero(significand);
      digits.lowest = std::min(digits.lowest, std::max(exponent, 1) - 1075 + zeros);
      digits.bits = std::max(digits.bits, static_cast<int>(std::bit_width(significand)) - zeros);
    }
  }
  digits.norm = *std::max_element(squares, squares + lanes);
  return digits;
}

Reading read_periods(std::int64_t period, const double* values, std::int64_t vectors,
                     std::int64_t lanes) {
  switch (period) {
    case 1:
      return read<1>(values, vectors, lanes);
    case 2:
      return read<2>(values, vectors, lanes);
    case 3:
      return read<3>(values, vectors, lanes);
    case 4:
      return read<4>(values, vectors, lanes);
    case 6:
      return read<6>(values, vectors, lanes);
    default:
      return {};
  }
}

Digits take_digits_impl(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<double>()));
  const std::int64_t period = lanes / std::gcd(lanes, width);
  std::int64_t whole =
      // The number of rows that fill whole periods of vectors.
      depth - depth % (period * width / lanes);
  const Reading r = read_periods(period, values, whole * lanes / width, lanes);
  if (!r.is_whole) whole = 0;
  Digits digits = one_by_one(values + whole * lanes, depth - whole, lanes, bad);
  if (whole > 0) digits.norm += r.squares;
  if (whole > 0 && std::isfinite(r.lowest)) {
    digits.lowest = std::min(digits.lowest, std::ilogb(r.lowest));
    digits.bits = std::max(digits.bits, static_cast<int>(r.gap) + 1);
  }
  digits.norm = std::sqrt(digits.norm) * (1 + 0x1p-20);
  return digits;
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(take_digits_impl);

Digits take_digits(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad) {
  return HWY_DYNAMIC_DISPATCH(take_digits_impl)(values, depth, lanes, bad);
}

}  // namespace assay::simd
#endif
