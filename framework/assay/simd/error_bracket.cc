#include "assay/simd/error_bracket.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/error_bracket.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
constexpr bool kCompresses = HWY_TARGET <= HWY_AVX3;  // by an instruction

HWY_INLINE hn::Vec<D> load(const double* from) { return hn::LoadU(D(), from); }
HWY_INLINE hn::Vec<D> load(const float* from) {
  const D d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

template <bool kRelative>
HWY_INLINE hn::Vec<D> error_of(hn::Vec<D> value, hn::Vec<D> e) {
  const D d;
  const hn::Vec<D> error = hn::Abs(hn::Sub(value, e)), zero = hn::Zero(d);
  if (!kRelative) return error;
  const auto size = hn::Abs(e);
  const auto unit = hn::IfThenElse(hn::Eq(size, zero), hn::Set(d, kErrorUnit), size);
  return hn::IfThenZeroElse(hn::Eq(error, zero), hn::Div(error, unit));
}

template <bool kRelative, typename T>
HWY_INLINE std::size_t bracket_in(std::size_t n, const T* values, const T* expected, double* to,
                                  ErrorBracket& bracket) {
  const D d;
  const hn::RebindToSigned<D> di;
  using V = hn::Vec<D>;
  const std::size_t lanes = hn::Lanes(d);
  const V low = hn::Set(d, bracket.low), high = hn::Set(d, bracket.high);
  const V infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  auto below = hn::Zero(di), at_low = below, at_high = below;
  V least = infinity;
  std::size_t count = 0;
  // A mask is -1 in each of its lanes.
  const auto counted = [&](auto mask)
                           HWY_ATTR { return hn::BitCast(di, hn::VecFromMask(d, mask)); };
  const auto look = [&](V value, V e) HWY_ATTR {
    const V seen = error_of<kRelative>(value, e);
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

// Calls body(j) for each lane j in the mask. Highway's Compress finds a vector's order in a table
// before AVX-512, which g++ copies to the stack at every call: ten times what it takes otherwise.
template <typename Tag, typename Mask, typename Body>
HWY_INLINE void for_lanes_in(Tag tag, Mask mask, const Body& body) {
  if (HWY_LIKELY(hn::AllFalse(tag, mask))) return;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits |= std::uint64_t{bytes[i]} << 8 * i;
  for (; bits != 0; bits &= bits - 1) body(static_cast<std::size_t>(std::countr_zero(bits)));
}

// Arithmetic in T, without a division, leaves out what surely lies outside: its bounds are wider by
// more than what it rounds, and rounding keeps the order of two numbers. float64 decides the rest.
template <bool kRelative, typename T>
HWY_INLINE ErrorsWithin within(std::size_t n, const T* values, const T* expected, double low,
                               double high, double* to) {
  const D d;
  const hn::ScalableTag<T> wide;
  const std::size_t lanes = hn::Lanes(d), at_once = hn::Lanes(wide);
  constexpr double kMargin = 0x1p-20;
  constexpr double kMost = std::numeric_limits<T>::max();
  const auto infinity = hn::Set(wide, std::numeric_limits<T>::infinity());
  const auto surely_below = hn::Set(wide, static_cast<T>(std::min(low * (1 - kMargin), kMost)));
  const double above = high * (1 + kMargin);
  const auto surely_above = above > kMost ? infinity : hn::Set(wide, static_cast<T>(above));
  const auto unit = hn::Set(wide, static_cast<T>(kErrorUnit));
  const auto from = hn::Set(d, low), until = hn::Set(d, high);
  constexpr std::size_t kBlock = 1024;
  // Room for a vector beyond what is kept, so that all of one can be written.
  T value[kBlock + hn::MaxLanes(wide)], of[kBlock + hn::MaxLanes(wide)];
  double errors[kBlock + hn::MaxLanes(d)];
  ErrorsWithin all;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t end = std::min(n, first + kBlock);
    std::size_t kept = 0, i = first;
    for (; i + at_once <= end; i += at_once) {
      const auto v = hn::LoadU(wide, values + i), e = hn::LoadU(wide, expected + i);
      const auto error = hn::Abs(hn::Sub(v, e));
      auto size = hn::Set(wide, T{1});
      if (kRelative) {
        size = hn::Abs(e);
        size = hn::IfThenElse(hn::Eq(size, hn::Zero(wide)), unit, size);
      }
      // What is NaN is not outside, nor is the error of two finite numbers that T has not.
      const auto outside = hn::Or(hn::Lt(error, hn::Mul(surely_below, size)),
                                  hn::Gt(error, hn::Mul(surely_above, size)));
      const auto rest = hn::Or(hn::Not(outside), hn::Eq(error, infinity));
      if constexpr (kCompresses) {
        hn::StoreU(hn::Compress(v, rest), wide, value + kept);
        hn::StoreU(hn::Compress(e, rest), wide, of + kept);
        kept += hn::CountTrue(wide, rest);
      } else {
        for_lanes_in(wide, rest, [&](std::size_t j) {
          value[kept] = values[i + j];
          of[kept++] = expected[i + j];
        });
      }
    }
    kept = static_cast<std::size_t>(std::copy(values + i, values + end, value + kept) - value);
    std::copy(expected + i, expected + end, of + kept - (end - i));
    // Beyond the last there are no errors.
    std::fill_n(value + kept, lanes, T{0});
    std::fill_n(of + kept, lanes, T{0});
    std::size_t found = 0;
    for (std::size_t j = 0; j < kept; j += lanes) {
      const auto seen = error_of<kRelative>(load(value + j), load(of + j));
      all.at_low += hn::CountTrue(d, hn::Eq(seen, from));
      const auto inside = hn::And(hn::Gt(seen, from), hn::Lt(seen, until));
      if constexpr (kCompresses) {
        hn::StoreU(hn::Compress(seen, inside), d, errors + found);
        found += hn::CountTrue(d, inside);
      } else {
        double lane[hn::MaxLanes(d)];
        hn::StoreU(seen, d, lane);
        for_lanes_in(d, inside, [&](std::size_t k) { errors[found++] = lane[k]; });
      }
    }
    std::copy_n(errors, found, to + all.stored);
    all.stored += found;
  }
  return all;
}
ErrorsWithin within_f64(bool relative, std::size_t n, const double* values, const double* expected,
                        double low, double high, double* to) {
  return relative ? within<true>(n, values, expected, low, high, to)
                  : within<false>(n, values, expected, low, high, to);
}
ErrorsWithin within_f32(bool relative, std::size_t n, const float* values, const float* expected,
                        double low, double high, double* to) {
  return relative ? within<true>(n, values, expected, low, high, to)
                  : within<false>(n, values, expected, low, high, to);
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
HWY_EXPORT(within_f64);
HWY_EXPORT(within_f32);

std::size_t bracket_errors(bool relative, std::size_t n, const double* values,
                           const double* expected, double* to, ErrorBracket& bracket) {
  return HWY_DYNAMIC_DISPATCH(bracket_f64)(relative, n, values, expected, to, bracket);
}
std::size_t bracket_errors(bool relative, std::size_t n, const float* values, const float* expected,
                           double* to, ErrorBracket& bracket) {
  return HWY_DYNAMIC_DISPATCH(bracket_f32)(relative, n, values, expected, to, bracket);
}

ErrorsWithin errors_within(bool relative, std::size_t n, const double* values,
                           const double* expected, double low, double high, double* to) {
  return HWY_DYNAMIC_DISPATCH(within_f64)(relative, n, values, expected, low, high, to);
}
ErrorsWithin errors_within(bool relative, std::size_t n, const float* values, const float* expected,
                           double low, double high, double* to) {
  return HWY_DYNAMIC_DISPATCH(within_f32)(relative, n, values, expected, low, high, to);
}

}  // namespace assay::simd
#endif
