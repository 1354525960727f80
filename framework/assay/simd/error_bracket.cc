#include "assay/simd/error_bracket.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/error_bracket.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
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

// Calls body(j) for each lane j that is set in the mask. Before AVX-512, Highway's Compress reads a
// vector's order from a table, which g++ copies to the stack at every call. That takes ten times as
// long.
template <typename Tag, typename Mask, typename Body>
HWY_INLINE void for_lanes_in(Tag tag, Mask mask, const Body& body) {
  if (HWY_LIKELY(hn::AllFalse(tag, mask))) return;
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(tag, mask, bytes);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 8; ++i) bits |= std::uint64_t{bytes[i]} << 8 * i;
  for (; bits != 0; bits &= bits - 1) body(static_cast<std::size_t>(std::countr_zero(bits)));
}

// Computes errors in T, without a division, and sorts out those that surely lie outside the bracket
// from `low` to `high`. For this it compares them with a lower `low` and a higher `high`. These
// limits are moved by more than the roundings in T, and rounding keeps the order of two numbers.
// The other errors are decided in float64.
template <bool kRelative, typename T>
HWY_INLINE std::size_t bracket(std::size_t n, const T* values, const T* expected, double* to,
                               ErrorBracket& bracket) {
  const D d;
  const hn::ScalableTag<T> wide;
  const hn::RebindToSigned<decltype(wide)> counts;
  const std::size_t lanes = hn::Lanes(d), at_once = hn::Lanes(wide);
  constexpr double kMargin = 0x1p-20;
  constexpr double kMost = std::numeric_limits<T>::max();
  const auto infinity = hn::Set(wide, std::numeric_limits<T>::infinity());
  const auto infinite = hn::Set(d, std::numeric_limits<double>::infinity());
  // The bracket's limits in T. Numbers below T's normal range would be less precise than kMargin
  // requires.
  constexpr double kLeast = std::numeric_limits<T>::min();
  const double under = bracket.low * (1 - kMargin), over = bracket.high * (1 + kMargin);
  const auto surely_below =
      hn::Set(wide, under < kLeast ? T{0} : static_cast<T>(std::min(under, kMost)));
  const auto surely_above =
      over > kMost ? infinity : hn::Set(wide, static_cast<T>(std::max(over, kLeast)));
  const auto unit = hn::Set(wide, static_cast<T>(kErrorUnit)), zero = hn::Zero(wide);
  const auto low = hn::Set(d, bracket.low), high = hn::Set(d, bracket.high);
  // A difference of two different numbers is never rounded to 0, so a computed 0 is an exact 0.
  const bool counts_zeros = bracket.low == 0;
  // Returns the limit if T holds it. If not, returns NaN, which equals no error.
  const auto held = [&](double bound) {
    const bool fits =
        std::abs(bound) <= kMost && static_cast<double>(static_cast<T>(bound)) == bound;
    return fits ? static_cast<T>(bound) : std::numeric_limits<T>::quiet_NaN();
  };
  const auto tied_low = hn::Set(wide, held(bracket.low));
  const auto tied_high = hn::Set(wide, held(bracket.high));
  const bool ties_high = bracket.high != bracket.low;
  // Converts a mask to counts: a mask is -1 in each of its lanes.
  const auto counted = [&](auto mask) HWY_ATTR __attribute__((always_inline)) {
    return hn::BitCast(counts, hn::VecFromMask(wide, mask));
  };
  constexpr std::size_t kBlock = 1024;
  // The arrays have room for one more vector than is kept, so that a whole vector can be written.
  T value[kBlock + hn::MaxLanes(wide)], of[kBlock + hn::MaxLanes(wide)];
  double errors[kBlock + hn::MaxLanes(d)];
  std::size_t stored = 0;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t end = std::min(n, first + kBlock);
    std::size_t kept = 0, i = first;
    auto below = hn::Zero(counts), at_low = below, at_high = below;
    for (; i + at_once <= end; i += at_once) {
      const auto v = hn::LoadU(wide, values + i), e = hn::LoadU(wide, expected + i);
      const auto error = hn::Abs(hn::Sub(v, e));
      auto from = surely_below, until = surely_above;
      if (kRelative) {
        auto size = hn::Abs(e);
        size = hn::IfThenElse(hn::Eq(size, zero), unit, size);
        from = hn::Mul(from, size);
        until = hn::Mul(until, size);
      }
      const auto is_below = hn::Lt(error, from);
      below = hn::Sub(below, counted(is_below));
      // NaN is not marked as outside, so float64 decides it. An error beyond T's range becomes
      // infinite, which is above every limit that T holds.
      auto outside = hn::Or(is_below, hn::Gt(error, until));
      if (counts_zeros) {
        const auto is_zero = hn::Eq(error, zero);
        at_low = hn::Sub(at_low, counted(is_zero));
        outside = hn::Or(outside, is_zero);
      }
      if (HWY_LIKELY(hn::AllTrue(wide, outside))) continue;
      auto rest = hn::Not(outside);
      if (!kRelative) {
        // The difference of two numbers is exact if it is less than both (Sterbenz, 1974).
        const auto exact = hn::And(rest, hn::Lt(error, hn::Min(hn::Abs(v), hn::Abs(e))));
        const auto is_low = hn::And(exact, hn::Eq(error, tied_low));
        at_low = hn::Sub(at_low, counted(is_low));
        rest = hn::AndNot(is_low, rest);
        if (ties_high) {
          const auto is_high = hn::And(exact, hn::Eq(error, tied_high));
          at_high = hn::Sub(at_high, counted(is_high));
          rest = hn::AndNot(is_high, rest);
        }
        if (HWY_LIKELY(hn::AllFalse(wide, rest))) continue;
      }
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
    // Fills up the lanes beyond the last error with values that are not finite.
    std::fill_n(value + kept, lanes, std::numeric_limits<T>::infinity());
    std::fill_n(of + kept, lanes, T{0});
    const auto sum = [&](auto all) HWY_ATTR __attribute__((always_inline)) {
      return static_cast<std::int64_t>(hn::GetLane(hn::SumOfLanes(counts, all)));
    };
    bracket.below += sum(below);
    bracket.at_low += sum(at_low);
    bracket.at_high += sum(at_high);
    const auto count = [&](auto mask) HWY_ATTR __attribute__((always_inline)) {
      return static_cast<std::int64_t>(hn::CountTrue(d, mask));
    };
    std::size_t found = 0;
    for (std::size_t j = 0; j < kept; j += lanes) {
      const auto v = load(value + j), e = load(of + j);
      const auto seen = error_of<kRelative>(v, e);
      // The error of two finite numbers may be infinite, so this checks the numbers themselves.
      const auto finite = hn::And(hn::Lt(hn::Abs(v), infinite), hn::Lt(hn::Abs(e), infinite));
      const auto is_low = hn::And(finite, hn::Eq(seen, low));
      bracket.below += count(hn::And(finite, hn::Lt(seen, low)));
      bracket.at_low += count(is_low);
      bracket.at_high += count(hn::AndNot(is_low, hn::And(finite, hn::Eq(seen, high))));
      const auto inside = hn::And(finite, hn::And(hn::Gt(seen, low), hn::Lt(seen, high)));
      if constexpr (kCompresses) {
        hn::StoreU(hn::Compress(seen, inside), d, errors + found);
        found += hn::CountTrue(d, inside);
      } else {
        double lane[hn::MaxLanes(d)];
        hn::StoreU(seen, d, lane);
        for_lanes_in(d, inside, [&](std::size_t k) { errors[found++] = lane[k]; });
      }
    }
    std::copy_n(errors, found, to + stored);
    stored += found;
  }
  bracket.between += static_cast<std::int64_t>(stored);
  return stored;
}
std::size_t bracket_f64(bool relative, std::size_t n, const double* values, const double* expected,
                        double* to, ErrorBracket& found) {
  return relative ? bracket<true>(n, values, expected, to, found)
                  : bracket<false>(n, values, expected, to, found);
}
std::size_t bracket_f32(bool relative, std::size_t n, const float* values, const float* expected,
                        double* to, ErrorBracket& found) {
  return relative ? bracket<true>(n, values, expected, to, found)
                  : bracket<false>(n, values, expected, to, found);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

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
