#include "assay/simd/compare.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/compare.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "assay/simd/ordinals-inl.h"
#include "assay/simd/read_ahead.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// Marks the elements of a vector for which float32 arithmetic proves the result.
template <class DF>
struct Proved {
  // The element matches, and 0 in its place would be a mismatch.
  hn::Mask<DF> clear;
  // The element matches, and 0 in its place would match as well.
  hn::Mask<DF> within;
};

// Proves for most elements, in float32, the result that a tolerance has in float64. Its bounds are
// stricter by the relative 2^-20 and by 2^-100, which is more than all roundings of float32 and
// float64 together. It proves nothing about infinity and NaN. With kRatios, it also does not prove
// elements whose ratio of error to tolerance is larger than allowed.
template <ToleranceForm kForm, bool kRatios>
class ToleranceProof {
 public:
  using DF = hn::ScalableTag<float>;
  using V = hn::Vec<DF>;

  explicit ToleranceProof(const Tolerance& t) {
    constexpr bool kSum = kForm == ToleranceForm::kSum;
    absolute_ = kSum || kForm == ToleranceForm::kEither ? t.atol : t.rtol * t.floor;
    relative_ = t.rtol;
    usable_ = absolute_ >= 0 && absolute_ <= 0x1p100 && relative_ >= 0 && relative_ <= 0.5 &&
              t.small_value >= 0 && t.small_value <= 0x1p100 && t.small_atol >= 0;
    if (!usable_) return;
    // Returns the |e| at which the tolerance, times `off`, equals |e|. Above it, 0 in place of the
    // actual value would be a mismatch, and below it, 0 would match.
    const auto alone = [&](double off) {
      return kSum ? absolute_ * off / (1 - relative_ * off) : absolute_ * off;
    };
    const bool has_small = t.small_value > 0;
    above_ = up(std::max(alone(1 + kOff) + kFloor, has_small ? t.small_value : 0));
    if (!has_small) below_ = down(alone(1 - kOff) - kFloor);
    allow(1);
  }

  bool usable() const { return usable_; }

  // Sets the largest ratio of an error to the tolerance that is still proved.
  void allow(double ratio) {
    const double most = std::min(ratio, 1.0), times = most * (1 - kOff);
    rtol_ = down(relative_ * times);
    atol_ = down(absolute_ * times - kFloor);
    // The largest error whose ratio to the absolute part of the tolerance is allowed. Its ratio to
    // the whole tolerance is then allowed, too. Errors of the same size are frequent.
    if (!kRatios || kForm == ToleranceForm::kSymmetric || absolute_ == 0) return;
    any_size_ = up(most * absolute_);
    while (static_cast<double>(any_size_) / absolute_ > most) {
      any_size_ = std::nextafter(any_size_, -1.0F);
    }
  }

  // The limits of the proof as vectors.
  struct Bounds {
    V rtol, atol, above, below, any_size;
  };
  HWY_INLINE Bounds bounds() const {
    const DF df;
    return {hn::Set(df, rtol_), hn::Set(df, atol_), hn::Set(df, above_), hn::Set(df, below_),
            hn::Set(df, any_size_)};
  }

  // A quick test for elements that match and would not match as 0. It is true for most such
  // elements.
  static HWY_INLINE hn::Mask<DF> clear(const Bounds& of, V a, V e) {
    return hn::And(hits(of, a, e), hn::Gt(hn::Abs(e), of.above));
  }
  static HWY_INLINE Proved<DF> look(const Bounds& of, V a, V e) {
    const auto zero = hn::Zero(DF()), size = hn::Abs(e);
    const auto none = hn::Eq(hn::Sub(a, e), zero), hit = hn::Or(none, hits(of, a, e));
    return {hn::And(hit, hn::Gt(size, of.above)),
            hn::Or(hn::And(hit, hn::Lt(size, of.below)), hn::And(none, hn::Eq(size, zero)))};
  }

 private:
  static constexpr double kOff = 0x1p-20, kFloor = 0x1p-100;
  static float down(double x) {
    return std::nextafter(static_cast<float>(x), -std::numeric_limits<float>::infinity());
  }
  static float up(double x) {
    return std::nextafter(static_cast<float>(x), std::numeric_limits<float>::infinity());
  }

  static HWY_INLINE hn::Mask<DF> hits(const Bounds& of, V a, V e) {
    const DF df;
    const V size = hn::Abs(e), error = hn::Abs(hn::Sub(a, e));
    V limit;
    if constexpr (kForm == ToleranceForm::kSum) {
      limit = hn::MulAdd(of.rtol, size, of.atol);
    } else {
      V floor = hn::Set(df, -static_cast<float>(kFloor));
      if (kForm == ToleranceForm::kSymmetric) floor = hn::MulAdd(of.rtol, hn::Abs(a), floor);
      limit = hn::Max(of.atol, hn::MulAdd(of.rtol, size, floor));
    }
    const auto hit = hn::Lt(error, limit);
    if constexpr (!kRatios || kForm == ToleranceForm::kSymmetric) {
      return hit;
    } else {
      // An error of at most half of |e| is exact (Sterbenz).
      const auto exact = hn::Le(hn::Add(error, error), size);
      return hn::Or(hit, hn::And(hn::Le(error, of.any_size), exact));
    }
  }

  double absolute_ = 0, relative_ = 0;
  float rtol_ = 0, atol_ = 0, above_ = 0, below_ = 0, any_size_ = 0;
  bool usable_ = false;
};

// A proof like ToleranceProof, but for a tolerance in ulps, from the bits of float32. For normal
// numbers of one sign and one binade, the difference of the bits is the number of representable
// values between them, and also their error in ulps. The values are those of a format that float32
// holds.
class UlpProof {
 public:
  using DF = hn::ScalableTag<float>;
  using DI = hn::RebindToSigned<DF>;
  using V = hn::Vec<DF>;

  UlpProof(const Ordinals& ordinals, std::uint64_t most)
      : most_(static_cast<double>(most)), drop_(ordinals.drop - kDropOfFloat32) {
    constexpr std::int64_t kInfinity = 0x7f800000;
    usable_ = drop_ >= 0 && ordinals.min_normal >= 0x1p-126 && most < (std::uint64_t{1} << 31);
    if (!usable_) return;
    // The exponents in float64's bits are larger by 1023 - 127 than those in float32's.
    const auto rebias = static_cast<std::int64_t>(ordinals.rebias) -
                        (std::int64_t{1023 - 127} << (52 - ordinals.drop));
    const std::int64_t from_zero = (static_cast<std::int64_t>(most) + rebias + 1) << drop_;
    const auto normal = static_cast<float>(ordinals.min_normal);
    std::int32_t normal_bits;
    std::memcpy(&normal_bits, &normal, sizeof normal);
    const std::int64_t first = std::max<std::int64_t>(normal_bits, from_zero);
    usable_ = first < kInfinity;
    above_ = static_cast<std::int32_t>(std::min(first, kInfinity) - 1);
    allow(most_);
  }

  bool usable() const { return usable_; }
  // From now on, errors above `error` are not proved either.
  void allow(double error) {
    const double apart = std::ldexp(std::floor(std::min(error, most_)), drop_);
    too_far_ = static_cast<std::int32_t>(std::min(apart, 0x1p30)) + 1;
  }

  struct Bounds {
    hn::Vec<DI> above, too_far;
  };
  HWY_INLINE Bounds bounds() const {
    const DI di;
    return {hn::Set(di, above_), hn::Set(di, too_far_)};
  }

  static HWY_INLINE hn::Mask<DF> clear(const Bounds& of, V actual, V expected) {
    const DI di;
    const auto a = hn::BitCast(di, actual), e = hn::BitCast(di, expected);
    const auto size = hn::And(e, hn::Set(di, 0x7fffffff));
    const auto one_binade = hn::Eq(hn::AndNot(hn::Set(di, 0x7fffff), hn::Xor(a, e)), hn::Zero(di));
    const auto near = hn::Lt(hn::Abs(hn::Sub(a, e)), of.too_far);
    const auto usual =
        hn::And(hn::Gt(size, of.above), hn::Lt(size, hn::Set(di, std::int32_t{0x7f800000})));
    return hn::RebindMask(DF(), hn::And(hn::And(one_binade, near), usual));
  }
  static HWY_INLINE Proved<DF> look(const Bounds& of, V actual, V expected) {
    const auto zero = hn::Zero(DF());
    return {clear(of, actual, expected), hn::And(hn::Eq(actual, zero), hn::Eq(expected, zero))};
  }

 private:
  double most_;
  int drop_;  // number of float32's mantissa bits that the format does not have
  std::int32_t above_ = 0, too_far_ = 0;
  bool usable_ = false;
};

// The counts of a kernel's elements.
struct Counts {
  std::size_t hits = 0, zero_within = 0, zero = 0;

  // Returns the comparison of n elements that were counted together with `filling` zeros. Each of
  // these zeros is within its bound.
  Comparison of(std::size_t n, std::size_t filling) const {
    return {static_cast<std::int64_t>(n + filling - hits),
            static_cast<std::int64_t>(zero_within - filling),
            static_cast<std::int64_t>(zero - filling)};
  }
};

// Compares float32 arrays. exact(actual, expected, n) adds the result of float64 arithmetic to
// `sum` for the elements that the proof does not decide.
template <class Proof, class Exact>
HWY_INLINE void compare_by_proof(const Proof& proof, const float* actual, const float* expected,
                                 std::size_t n, Comparison& sum, const Exact& exact) {
  using DF = typename Proof::DF;
  const DF df;
  constexpr std::size_t kVectors = 4, kSteps = 8;
  // The number of unproved elements that are compared in float64 at once. They often come together.
  constexpr std::size_t kTogether = kSteps * kVectors * HWY_MAX_BYTES / sizeof(float);
  const std::size_t lanes = hn::Lanes(df), step = kVectors * lanes;
  double a[kTogether], e[kTogether];
  for (std::size_t i = 0; i < n;) {
    const auto bounds = proof.bounds();
    const auto actual_at = [&](std::size_t k)
                               HWY_ATTR { return hn::LoadU(df, actual + i + k * lanes); };
    const auto expected_at = [&](std::size_t k)
                                 HWY_ATTR { return hn::LoadU(df, expected + i + k * lanes); };
    const auto is_clear = [&](std::size_t k) HWY_ATTR {
      return Proof::clear(bounds, actual_at(k), expected_at(k));
    };
    while (proof.usable() && i + step <= n) {
      if (HWY_UNLIKELY(!hn::AllTrue(
              df, hn::And(hn::And(is_clear(0), is_clear(1)), hn::And(is_clear(2), is_clear(3)))))) {
        std::int64_t clear = 0, within = 0, zero = 0;
        for (std::size_t k = 0; k < kVectors; ++k) {
          const Proved<DF> of = Proof::look(bounds, actual_at(k), expected_at(k));
          clear += static_cast<std::int64_t>(hn::CountTrue(df, of.clear));
          within += static_cast<std::int64_t>(hn::CountTrue(df, of.within));
          zero +=
              static_cast<std::int64_t>(hn::CountTrue(df, hn::Eq(expected_at(k), hn::Zero(df))));
        }
        if (clear + within < static_cast<std::int64_t>(step)) break;
        sum.zero_within += within;
        sum.zero += zero;
      }
      read_ahead(actual + i, step * sizeof(float));
      read_ahead(expected + i, step * sizeof(float));
      i += step;
    }
    const std::size_t some = std::min(n - i, kSteps * step);
    if (some == 0) break;
    for (std::size_t k = 0; k < some; ++k) {
      a[k] = static_cast<double>(actual[i + k]);
      e[k] = static_cast<double>(expected[i + k]);
    }
    const Comparison more = exact(a, e, some);
    sum.mismatches += more.mismatches;
    sum.zero_within += more.zero_within;
    sum.zero += more.zero;
    i += some;
  }
}

Comparison compare_f64(const double* actual, const double* expected, std::size_t n, double atol,
                       double rtol) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto absolute = hn::Set(d, atol), relative = hn::Set(d, rtol);
  // An infinite bound never accepts an infinite error: the bound counts as at most the largest
  // finite number.
  const auto largest = hn::Set(d, std::numeric_limits<double>::max());
  using Mask = hn::Mask<decltype(d)>;
  struct Lanes {
    Mask hit, zero_within, zero;
  };
  const auto look = [&](std::size_t i) HWY_ATTR {
    const auto e = hn::LoadU(d, expected + i), size = hn::Abs(e);
    const auto error = hn::Abs(hn::Sub(hn::LoadU(d, actual + i), e));
    const auto bound = hn::Add(absolute, hn::Mul(relative, size));
    return Lanes{hn::And(hn::Le(error, bound), hn::Le(error, largest)),
                 hn::And(hn::Le(size, bound), hn::Le(size, largest)), hn::Eq(e, hn::Zero(d))};
  };
  std::size_t i = 0, hits = 0, zero_within = 0, zero = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const Lanes l[4] = {look(i), look(i + lanes), look(i + 2 * lanes), look(i + 3 * lanes)};
    // Elements with a 0 within their bound are rare: they are 0 themselves, or smaller than their
    // bound. Only such elements, and mismatches, need the counts below.
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
    const double e = expected[i], size = std::abs(e);
    const double error = std::abs(actual[i] - e);
    const double bound = std::min(atol + rtol * size, std::numeric_limits<double>::max());
    hits += error <= bound ? 1 : 0;
    zero_within += size <= bound ? 1 : 0;
    zero += e == 0 ? 1 : 0;
  }
  return {static_cast<std::int64_t>(n - hits), static_cast<std::int64_t>(zero_within),
          static_cast<std::int64_t>(zero)};
}

Comparison compare_f32(const float* actual, const float* expected, std::size_t n, double atol,
                       double rtol) {
  Comparison sum;
  const ToleranceProof<ToleranceForm::kSum, false> proof({.rtol = rtol, .atol = atol});
  compare_by_proof(proof, actual, expected, n, sum,
                   [&](const double* a, const double* e, std::size_t some)
                       HWY_ATTR { return compare_f64(a, e, some, atol, rtol); });
  return sum;
}

// Calls look(k, load) for each vector from element k on, where load(p) reads p[k], p[k + 1], ...
// Fills the last vector up with zeros and returns their number.
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

template <ToleranceForm kForm>
HWY_NOINLINE ToleranceComparison compare_form(const double* actual, const double* expected,
                                              const double* own, std::size_t n,
                                              const Tolerance& t) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const auto zero = hn::Zero(d), largest = hn::Set(d, std::numeric_limits<double>::max());
  const auto atol = hn::Set(d, t.atol), rtol = hn::Set(d, t.rtol), floor = hn::Set(d, t.floor);
  const auto small_value = hn::Set(d, t.small_value), small_atol = hn::Set(d, t.small_atol);
  // hn::Min is not used, because its results differ between targets if an operand is NaN.
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

// Calls call(form), where form.value is a compile-time constant.
template <class Call>
HWY_INLINE ToleranceComparison by_form(ToleranceForm form, const Call& call) {
  switch (form) {
    case ToleranceForm::kSum:
      return call(std::integral_constant<ToleranceForm, ToleranceForm::kSum>());
    case ToleranceForm::kEither:
      return call(std::integral_constant<ToleranceForm, ToleranceForm::kEither>());
    case ToleranceForm::kLargest:
      return call(std::integral_constant<ToleranceForm, ToleranceForm::kLargest>());
    case ToleranceForm::kSymmetric:
      return call(std::integral_constant<ToleranceForm, ToleranceForm::kSymmetric>());
  }
  return {};
}

ToleranceComparison compare_by_tolerance(const double* actual, const double* expected,
                                         const double* own, std::size_t n, const Tolerance& t) {
  return by_form(t.form, [&](auto form) HWY_ATTR {
    return compare_form<form.value>(actual, expected, own, n, t);
  });
}

// Like compare_by_proof(), but also finds the largest error or ratio, starting from `before`.
// exact() returns that of the elements that it compares. Elements that cannot exceed the largest
// one so far are proved.
template <class Found, class Proof, class Exact>
HWY_INLINE Found compare_from(double before, double Found::*largest, Proof proof,
                              const float* actual, const float* expected, std::size_t n,
                              const Exact& exact) {
  Found sum;
  sum.*largest = before;
  proof.allow(before);
  compare_by_proof(proof, actual, expected, n, sum,
                   [&](const double* a, const double* e, std::size_t some) HWY_ATTR {
                     const Found more = exact(a, e, some);
                     sum.*largest = std::max(sum.*largest, more.*largest);
                     proof.allow(sum.*largest);
                     return more;
                   });
  return sum;
}

ToleranceComparison compare_f32_by_tolerance(const float* actual, const float* expected,
                                             std::size_t n, const Tolerance& t, double worst) {
  return by_form(t.form, [&](auto form) HWY_ATTR {
    return compare_from(worst, &ToleranceComparison::worst_ratio,
                        ToleranceProof<form.value, true>(t), actual, expected, n,
                        [&](const double* a, const double* e, std::size_t some)
                            HWY_ATTR { return compare_form<form.value>(a, e, nullptr, some, t); });
  });
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

UlpComparison compare_f32_by_ulps(const float* actual, const float* expected, std::size_t n,
                                  const Ordinals& ordinals, std::uint64_t most, double worst) {
  return compare_from(worst, &UlpComparison::worst_error, UlpProof(ordinals, most), actual,
                      expected, n,
                      [&](const double* a, const double* e, std::size_t some)
                          HWY_ATTR { return compare_by_ulps(a, e, some, ordinals, most); });
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(compare_f64);
HWY_EXPORT(compare_f32);
HWY_EXPORT(compare_by_tolerance);
HWY_EXPORT(compare_f32_by_tolerance);
HWY_EXPORT(compare_by_ulps);
HWY_EXPORT(compare_f32_by_ulps);

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
ToleranceComparison compare(const float* actual, const float* expected, std::size_t n,
                            const Tolerance& tolerance, double worst_ratio) {
  return HWY_DYNAMIC_DISPATCH(compare_f32_by_tolerance)(actual, expected, n, tolerance,
                                                        worst_ratio);
}
UlpComparison compare(const float* actual, const float* expected, std::size_t n,
                      const Ordinals& ordinals, std::uint64_t most, double worst_error) {
  return HWY_DYNAMIC_DISPATCH(compare_f32_by_ulps)(actual, expected, n, ordinals, most,
                                                   worst_error);
}

}  // namespace assay::simd
#endif
