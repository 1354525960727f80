#include "assay/simd/error_bracket.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/error_bracket.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;

HWY_INLINE hn::Vec<D> load(const double* from) { return hn::LoadU(D(), from); }
HWY_INLINE hn::Vec<D> load(const float* from) {
  const D d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

template <bool kRelative, typename T>
HWY_INLINE std::size_t bracket_in(std::size_t n, const T* values, const T* expected, double* to,
                                  ErrorBracket& bracket) {
  const D d;
  const hn::RebindToSigned<D> di;
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d);
  const V low = hn::Set(d, bracket.low), high = hn::Set(d, bracket.high), zero = hn::Zero(d);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  auto below = hn::Zero(di), at_low = below, at_high = below;
  V least = infinity;
  std::size_t count = 0;
  // A mask is -1 in each of its lanes.
  const auto counted = [&](auto mask)
                           HWY_ATTR { return hn::BitCast(di, hn::VecFromMask(d, mask)); };
  const auto look = [&](V value, V e) HWY_ATTR {
    const V error = hn::Abs(hn::Sub(value, e));
    V seen = error;
    if (kRelative) {
      const V size = hn::Abs(e);
      const V unit = hn::IfThenElse(hn::Eq(size, zero), hn::Set(d, kErrorUnit), size);
      seen = hn::IfThenZeroElse(hn::Eq(error, zero), hn::Div(error, unit));
    }
    // The error of two numbers may be infinite, so that the numbers themselves are asked.
    const auto finite = hn::And(hn::Lt(hn::Abs(value), infinity), hn::Lt(hn::Abs(e), infinity));
    below = hn::Sub(below, counted(hn::And(finite, hn::Lt(seen, low))));
    at_low = hn::Sub(at_low, counted(hn::And(finite, hn::Eq(seen, low))));
    const auto above = hn::And(finite, hn::Gt(seen, high));
    least = hn::Min(least, hn::IfThenElse(above, seen, infinity));
    const auto rest = hn::And(finite, hn::And(hn::Gt(seen, low), hn::Le(seen, high)));
    if (HWY_LIKELY(hn::AllFalse(d, rest))) return;
    const auto end = hn::Eq(seen, high);
    at_high = hn::Sub(at_high, counted(hn::And(rest, end)));
    double errors[hn::MaxLanes(d)], inside[hn::MaxLanes(d)];
    hn::StoreU(seen, d, errors);
    hn::StoreU(hn::IfThenElseZero(hn::AndNot(end, rest), hn::Set(d, 1)), d, inside);
    for (std::size_t j = 0; j < lanes; ++j) {
      if (inside[j] != 0) to[count++] = errors[j];
    }
  };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) look(load(values + i), load(expected + i));
  if (i < n) {
    // Beyond the end nothing is finite.
    T value[hn::MaxLanes(d)], e[hn::MaxLanes(d)] = {};
    std::fill_n(value, hn::MaxLanes(d), std::numeric_limits<T>::infinity());
    std::copy(values + i, values + n, value);
    std::copy(expected + i, expected + n, e);
    look(load(value), load(e));
  }
  const auto sum = [&](auto counts) HWY_ATTR { return hn::GetLane(hn::SumOfLanes(di, counts)); };
  bracket.below += sum(below);
  bracket.at_low += sum(at_low);
  bracket.between += static_cast<std::int64_t>(count);
  bracket.at_high += sum(at_high);
  bracket.least_above = std::min(bracket.least_above, hn::GetLane(hn::MinOfLanes(d, least)));
  return count;
}

template <typename T>
HWY_INLINE std::size_t bracket(bool relative, std::size_t n, const T* values, const T* expected,
                               double* to, ErrorBracket& found) {
  return relative ? bracket_in<true>(n, values, expected, to, found)
                  : bracket_in<false>(n, values, expected, to, found);
}
std::size_t bracket_f64(bool relative, std::size_t n, const double* values, const double* expected,
                        double* to, ErrorBracket& found) {
  return bracket(relative, n, values, expected, to, found);
}
std::size_t bracket_f32(bool relative, std::size_t n, const float* values, const float* expected,
                        double* to, ErrorBracket& found) {
  return bracket(relative, n, values, expected, to, found);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(bracket_f64);
HWY_EXPORT(bracket_f32);

std::size_t bracket_errors(bool relative, std::size_t n, const double* values,
                           const double* expected, double* to, ErrorBracket& bracket) {
  return HWY_DYNAMIC_DISPATCH(bracket_f64)(relative, n, values, expected, to, bracket);
}
std::size_t bracket_errors(bool relative, std::size_t n, const float* values, const float* expected,
                           double* to, ErrorBracket& bracket) {
  return HWY_DYNAMIC_DISPATCH(bracket_f32)(relative, n, values, expected, to, bracket);
}

}  // namespace assay::simd
#endif
