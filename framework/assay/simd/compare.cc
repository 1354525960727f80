#include "assay/simd/compare.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/compare.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/simd/ordinals-inl.h"
#include "assay/simd/read_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Bounds that float32 arithmetic can be held against: with them, |a - e| < rtol |e| + atol and
// |e| > above, each step rounded to float32, prove that the element does not miss and that 0 in its
// place would; of infinity and NaN they prove nothing. They are off by 2^-20 and 2^-100, more than
// all roundings of float32 and float64 together can be.
struct QuickBounds {
  float rtol = 0, atol = 0, above = 0;
  bool usable = false;

  QuickBounds(double absolute, double relative) {
    constexpr double kOff = 0x1p-20, kFloor = 0x1p-100;
    usable = absolute >= 0 && absolute <= 0x1p100 && relative >= 0 && relative <= 0.5;
    if (!usable) return;
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto down = [](double x) { return std::nextafter(static_cast<float>(x), -kInfinity); };
    rtol = down(relative * (1 - kOff));
    atol = down(absolute * (1 - kOff) - kFloor);
    // |e| > atol + rtol |e|, solved for |e|.
    above = std::nextafter(
        static_cast<float>(absolute * (1 + kOff) / (1 - relative * (1 + kOff)) + kFloor),
        kInfinity);
  }
};

// Whether the bounds prove it of the elements of four vectors.
template <class DF>
HWY_INLINE bool all_proved(DF df, const QuickBounds& bounds, const float* actual,
                           const float* expected) {
  const auto rtol = hn::Set(df, bounds.rtol), atol = hn::Set(df, bounds.atol);
  const auto above = hn::Set(df, bounds.above);
  const std::size_t lanes = hn::Lanes(df);
  const auto proved = [&](std::size_t k) HWY_ATTR {
    const auto e = hn::LoadU(df, expected + k * lanes), size = hn::Abs(e);
    const auto error = hn::Abs(hn::Sub(hn::LoadU(df, actual + k * lanes), e));
    return hn::And(hn::Lt(error, hn::MulAdd(rtol, size, atol)), hn::Gt(size, above));
  };
  return hn::AllTrue(df, hn::And(hn::And(proved(0), proved(1)), hn::And(proved(2), proved(3))));
}

template <typename T>
HWY_INLINE Comparison compare_all(const T* actual, const T* expected, std::size_t n, double atol,
                                  double rtol) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto load = [&](const T* p) HWY_ATTR {
    if constexpr (sizeof(T) == sizeof(double)) {
      return hn::LoadU(d, p);
    } else {
      return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), p));
    }
  };
  const auto absolute = hn::Set(d, atol), relative = hn::Set(d, rtol);
  // An infinite bound never clears anything: the bound is at most the largest finite number.
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  using Mask = hn::Mask<decltype(d)>;
  struct Lanes {
    Mask hit, zero_within, zero;
  };
  const auto look = [&](std::size_t i) HWY_ATTR {
    const auto e = load(expected + i), size = hn::Abs(e);
    const auto error = hn::Abs(hn::Sub(load(actual + i), e));
    const auto bound = hn::Add(absolute, hn::Mul(relative, size));
    return Lanes{hn::And(hn::Le(error, bound), hn::Le(error, largest)),
                 hn::And(hn::Le(size, bound), hn::Le(size, largest)), hn::Eq(e, hn::Zero(d))};
  };
  std::size_t i = 0, hits = 0, zero_within = 0, zero = 0;
  [[maybe_unused]] const QuickBounds quick(atol, rtol);
  [[maybe_unused]] std::size_t quick_from = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    if constexpr (sizeof(T) == sizeof(float)) {
      const hn::ScalableTag<float> df;
      const std::size_t step = 4 * hn::Lanes(df);
      if (quick.usable && i >= quick_from) {
        while (i + step <= n && all_proved(df, quick, actual + i, expected + i)) {
          read_ahead(actual + i, step * sizeof(float));
          read_ahead(expected + i, step * sizeof(float));
          hits += step;
          i += step;
        }
        // Zeros and misses, which are not proved, come in numbers.
        quick_from = i + 8 * step;
      }
      if (i + 4 * lanes > n) break;
    }
    const Lanes l[4] = {look(i), look(i + lanes), look(i + 2 * lanes), look(i + 3 * lanes)};
    // An element whose zero is within its bound: 0 itself, or one that the bound does not see.
    const auto common = [&](int k) HWY_ATTR { return hn::AndNot(l[k].zero_within, l[k].hit); };
    if (HWY_LIKELY(hn::AllTrue(
            d, hn::And(hn::And(common(0), common(1)), hn::And(common(2), common(3)))))) {
      hits += 4 * lanes;
      continue;
    }
    for (const Lanes& lane : l) {
      hits += hn::CountTrue(d, lane.hit);
      zero_within += hn::CountTrue(d, lane.zero_within);
      zero += hn::CountTrue(d, lane.zero);
    }
  }
  for (; i < n; ++i) {
    const double e = static_cast<double>(expected[i]), size = std::abs(e);
    const double error = std::abs(static_cast<double>(actual[i]) - e);
    const double bound = std::min(atol + rtol * size, std::numeric_limits<double>::max());
    hits += error <= bound ? 1 : 0;
    zero_within += size <= bound ? 1 : 0;
    zero += e == 0 ? 1 : 0;
  }
  return {static_cast<std::int64_t>(n - hits), static_cast<std::int64_t>(zero_within),
          static_cast<std::int64_t>(zero)};
}

Comparison compare_f64(const double* actual, const double* expected, std::size_t n, double atol,
                       double rtol) {
  return compare_all(actual, expected, n, atol, rtol);
}
Comparison compare_f32(const float* actual, const float* expected, std::size_t n, double atol,
                       double rtol) {
  return compare_all(actual, expected, n, atol, rtol);
}

// Calls look(k, load) for each vector from element k on, where load(p) reads p[k], p[k + 1], ...;
// the last one is filled up with zeros. Returns how many these are.
template <class D, class Look>
HWY_INLINE std::size_t for_vectors(D d, std::size_t n, const Look& look) {
  const std::size_t lanes = hn::Lanes(d);
  std::size_t k = 0;
  for (; k + lanes <= n; k += lanes) {
    look([&](const double* p) HWY_ATTR { return hn::LoadU(d, p + k); });
  }
  if (k == n) return 0;
  HWY_ALIGN double last[HWY_MAX_BYTES / sizeof(double)];
  look([&](const double* p) HWY_ATTR {
    hn::Store(hn::Zero(d), d, last);
    for (std::size_t i = k; i < n; ++i) last[i - k] = p[i];
    return hn::Load(d, last);
  });
  return lanes - (n - k);
}

// What a kernel counts.
struct Counts {
  std::size_t hits = 0, zero_within = 0, zero = 0;

  // Of n elements and `filling` zeros beside them, each of which is within its bound.
  Comparison of(std::size_t n, std::size_t filling) const {
    return {static_cast<std::int64_t>(n + filling - hits),
            static_cast<std::int64_t>(zero_within - filling),
            static_cast<std::int64_t>(zero - filling)};
  }
};

template <ToleranceForm kForm>
HWY_INLINE ToleranceComparison compare_form(const double* actual, const double* expected,
                                            const double* own, std::size_t n, const Tolerance& t) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const auto zero = hn::Zero(d), largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto atol = hn::Set(d, t.atol), rtol = hn::Set(d, t.rtol), floor = hn::Set(d, t.floor);
  const auto small_value = hn::Set(d, t.small_value), small_atol = hn::Set(d, t.small_atol);
  // Not hn::Min, of which targets differ where a side is NaN.
  const auto at_most_largest = [&](V x) HWY_ATTR {
    return hn::IfThenElse(hn::Gt(x, largest), largest, x);
  };
  const auto tolerance = [&](V size, V by, V added) HWY_ATTR {
    V of;
    if constexpr (kForm == ToleranceForm::kSum) {
      of = hn::Add(atol, hn::Mul(rtol, size));
    } else if constexpr (kForm == ToleranceForm::kEither) {
      of = hn::Max(atol, hn::Mul(rtol, size));
    } else {
      of = hn::Mul(rtol, hn::Max(floor, by));
    }
    of = hn::IfThenElse(hn::Lt(size, small_value), small_atol, at_most_largest(of));
    return own == nullptr ? of : at_most_largest(hn::Add(of, added));
  };
  const auto within = [&](V error, V limit) HWY_ATTR {
    const auto finite = hn::Le(error, largest);
    if constexpr (kForm == ToleranceForm::kSymmetric) {
      return hn::And(finite, hn::Or(hn::Lt(error, limit), hn::Eq(error, zero)));
    } else {
      return hn::And(finite, hn::Le(error, limit));
    }
  };
  Counts counts;
  V worst = hn::Zero(d);
  const std::size_t filling = for_vectors(d, n, [&](const auto& load) HWY_ATTR {
    const V a = load(actual), e = load(expected), size = hn::Abs(e);
    const V added = own == nullptr ? zero : load(own);
    const V error = hn::Abs(hn::Sub(a, e));
    const V of_zero = tolerance(size, size, added);
    const V limit = kForm == ToleranceForm::kSymmetric
                        ? tolerance(size, hn::Add(size, hn::Abs(a)), added)
                        : of_zero;
    counts.hits += hn::CountTrue(d, within(error, limit));
    counts.zero_within += hn::CountTrue(d, within(size, of_zero));
    counts.zero += hn::CountTrue(d, hn::Eq(e, zero));
    const auto tells = hn::And(hn::Gt(error, zero), hn::Gt(limit, zero));
    worst = hn::Max(worst, hn::IfThenElseZero(tells, hn::Div(error, limit)));
  });
  return {counts.of(n, filling), hn::GetLane(hn::MaxOfLanes(d, worst))};
}

ToleranceComparison compare_by_tolerance(const double* actual, const double* expected,
                                         const double* own, std::size_t n, const Tolerance& t) {
  switch (t.form) {
    case ToleranceForm::kSum:
      return compare_form<ToleranceForm::kSum>(actual, expected, own, n, t);
    case ToleranceForm::kEither:
      return compare_form<ToleranceForm::kEither>(actual, expected, own, n, t);
    case ToleranceForm::kLargest:
      return compare_form<ToleranceForm::kLargest>(actual, expected, own, n, t);
    case ToleranceForm::kSymmetric:
      return compare_form<ToleranceForm::kSymmetric>(actual, expected, own, n, t);
  }
  return {};
}

UlpComparison compare_by_ulps(const double* actual, const double* expected, std::size_t n,
                              const Ordinals& ordinals, std::uint64_t most) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto zero = hn::Zero(d), largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto limit = hn::Set(d, static_cast<double>(most));
  const auto exponent = hn::Set(du, std::uint64_t{0x7ff} << 52);
  const auto spacing_at_1 =
      hn::Set(d, 1.0 / static_cast<double>(std::uint64_t{1} << (52 - ordinals.drop)));
  const auto min_subnormal = hn::Set(d, ordinals.min_subnormal);
  Counts counts;
  V worst = hn::Zero(d);
  const std::size_t filling = for_vectors(d, n, [&](const auto& load) HWY_ATTR {
    const V a = load(actual), e = load(expected), size = hn::Abs(e);
    const auto finite = hn::And(hn::Le(hn::Abs(a), largest), hn::Le(size, largest));
    const V apart = ordinal_distance(d, ordinals, a, e);
    counts.hits += hn::CountTrue(d, hn::And(finite, hn::Le(apart, limit)));
    const V from_zero = ordinal_distance(d, ordinals, zero, size);
    counts.zero_within +=
        hn::CountTrue(d, hn::And(hn::Le(size, largest), hn::Le(from_zero, limit)));
    counts.zero += hn::CountTrue(d, hn::Eq(e, zero));
    const V octave = hn::BitCast(d, hn::And(hn::BitCast(du, size), exponent));
    const V spacing = hn::Max(hn::Mul(octave, spacing_at_1), min_subnormal);
    const V error = hn::IfThenElseZero(finite, hn::Abs(hn::Sub(a, e)));
    worst = hn::Max(worst, hn::Div(error, spacing));
  });
  return {counts.of(n, filling), hn::GetLane(hn::MaxOfLanes(d, worst))};
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(compare_f64);
HWY_EXPORT(compare_f32);
HWY_EXPORT(compare_by_tolerance);
HWY_EXPORT(compare_by_ulps);

Comparison compare(const double* actual, const double* expected, std::size_t n, double atol,
                   double rtol) {
  return HWY_DYNAMIC_DISPATCH(compare_f64)(actual, expected, n, atol, rtol);
}
Comparison compare(const float* actual, const float* expected, std::size_t n, double atol,
                   double rtol) {
  return HWY_DYNAMIC_DISPATCH(compare_f32)(actual, expected, n, atol, rtol);
}
ToleranceComparison compare(const double* actual, const double* expected, const double* own,
                            std::size_t n, const Tolerance& tolerance) {
  return HWY_DYNAMIC_DISPATCH(compare_by_tolerance)(actual, expected, own, n, tolerance);
}
UlpComparison compare(const double* actual, const double* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most) {
  return HWY_DYNAMIC_DISPATCH(compare_by_ulps)(actual, expected, n, ordinals, most);
}

}  // namespace assay::simd
#endif
