// Eight float64 values, or eight float32, in the number of vectors that a target needs for them. A
// sum in eight lanes has the same order of additions, and so the same bits, on every host. Compiled
// once for each target.
#if defined(ASSAY_SIMD_EIGHT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_EIGHT_INL_H_
#undef ASSAY_SIMD_EIGHT_INL_H_
#else
#define ASSAY_SIMD_EIGHT_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>

#include "assay/simd/unroll.h"

// Loops over parts are only unrolled on targets with fused multiply-adds. On the others, a part may
// be one value, and loops that stay loops compile in a third of the time.
#undef ASSAY_UNROLL_PARTS
#if HWY_NATIVE_FMA
#define ASSAY_UNROLL_PARTS ASSAY_UNROLL
#else
#define ASSAY_UNROLL_PARTS
#endif

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct Eight {
  static constexpr std::size_t kLanes = 8;
  using Tag = hn::CappedTag<T, kLanes>;
  static constexpr std::size_t kPart = hn::MaxLanes(Tag());
  static constexpr std::size_t kParts = kLanes / kPart;
  using Part = hn::Vec<Tag>;

  Part part[kParts];

  // The constructor is written out, because the implicit one would be compiled for no target, and
  // because vectors have constructors of their own on ARM.
  HWY_INLINE Eight() {}
  static HWY_INLINE Eight set(T value) {
    Eight x;
    ASSAY_UNROLL_PARTS
    for (Part& part : x.part) part = hn::Set(Tag(), value);
    return x;
  }
  static HWY_INLINE Eight load(const T* from) {
    Eight x;
    ASSAY_UNROLL_PARTS
    for (std::size_t i = 0; i < kParts; ++i) {
      x.part[i] = hn::LoadU(Tag(), from + i * kPart);
    }
    return x;
  }
};

// The following operations compute each of the eight values.
template <class T>
HWY_INLINE Eight<T> add(Eight<T> a, const Eight<T>& b) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::Add(a.part[i], b.part[i]);
  }
  return a;
}
template <class T>
HWY_INLINE Eight<T> multiply(Eight<T> a, const Eight<T>& b) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::Mul(a.part[i], b.part[i]);
  }
  return a;
}
template <class T>
HWY_INLINE Eight<T> least(Eight<T> a, const Eight<T>& b) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::Min(a.part[i], b.part[i]);
  }
  return a;
}
template <class T>
HWY_INLINE Eight<T> greatest(Eight<T> a, const Eight<T>& b) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::Max(a.part[i], b.part[i]);
  }
  return a;
}
template <class T>
HWY_INLINE Eight<T> magnitude(Eight<T> a) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::Abs(a.part[i]);
  }
  return a;
}
// Keeps the bits of each value that are set in `mask`.
template <class T, class Bits>
HWY_INLINE Eight<T> masked(Eight<T> a, Bits mask) {
  const typename Eight<T>::Tag d;
  const hn::Rebind<Bits, typename Eight<T>::Tag> du;
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    a.part[i] = hn::BitCast(d, hn::And(hn::BitCast(du, a.part[i]), hn::Set(du, mask)));
  }
  return a;
}

// Returns a * b + c, rounded once, with std::fma if the target has no instruction for it.
#if HWY_NATIVE_FMA
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fused(D, V a, V b, V c) {
  return hn::MulAdd(a, b, c);
}
#else
template <class D, class V = hn::Vec<D>>
HWY_NOINLINE V fused(D d, V a, V b, V c) {
  hn::TFromD<D> la[hn::MaxLanes(D())], lb[hn::MaxLanes(D())], lc[hn::MaxLanes(D())];
  hn::StoreU(a, d, la);
  hn::StoreU(b, d, lb);
  hn::StoreU(c, d, lc);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lc[i] = std::fma(la[i], lb[i], lc[i]);
  return hn::LoadU(d, lc);
}
#endif
template <class T>
HWY_INLINE Eight<T> multiply_add(const Eight<T>& a, const Eight<T>& b, Eight<T> c) {
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<T>::kParts; ++i) {
    c.part[i] = fused(typename Eight<T>::Tag(), a.part[i], b.part[i], c.part[i]);
  }
  return c;
}

// lower_half() and upper_half() return the halves of a vector. A vector of one lane has no halves,
// and Highway no such functions for it.
template <class D, class V>
HWY_INLINE auto lower_half([[maybe_unused]] D d, V v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  return hn::LowerHalf(hn::Half<D>(), v);
#endif
}
template <class D, class V>
HWY_INLINE auto upper_half([[maybe_unused]] D d, V v) {
#if HWY_TARGET == HWY_SCALAR
  return v;
#else
  return hn::UpperHalf(hn::Half<D>(), v);
#endif
}

// Returns part i of eight float32 as float64. `FromFloats` is Eight<float>.
template <class FromFloats>
HWY_INLINE Eight<double>::Part promoted_part(const FromFloats& x, std::size_t i) {
  const Eight<double>::Tag d;
  if constexpr (FromFloats::kParts == Eight<double>::kParts) {
    return hn::PromoteTo(d, x.part[i]);
  } else {
    static_assert(2 * FromFloats::kParts == Eight<double>::kParts);
    const typename FromFloats::Tag df;
    return i % 2 == 0 ? hn::PromoteTo(d, lower_half(df, x.part[i / 2]))
                      : hn::PromoteTo(d, upper_half(df, x.part[i / 2]));
  }
}
HWY_INLINE Eight<double> promote(const Eight<float>& x) {
  Eight<double> result;
  ASSAY_UNROLL_PARTS
  for (std::size_t i = 0; i < Eight<double>::kParts; ++i) result.part[i] = promoted_part(x, i);
  return result;
}

// Adds the eight values by halves: ((0 + 4) + (2 + 6)) + ((1 + 5) + (3 + 7)).
template <class D, class V, class Join>
HWY_INLINE hn::TFromD<D> join_lanes([[maybe_unused]] D d, V v, [[maybe_unused]] Join join) {
  if constexpr (hn::MaxLanes(D()) == 1) {
    return hn::GetLane(v);
  } else {
    return join_lanes(hn::Half<D>(), join(lower_half(d, v), upper_half(d, v)), join);
  }
}
template <class T, class Join>
HWY_INLINE T join_all(Eight<T> x, Join join) {
  ASSAY_UNROLL_PARTS
  for (std::size_t n = Eight<T>::kParts / 2; n > 0; n /= 2) {
    ASSAY_UNROLL_PARTS
    for (std::size_t i = 0; i < n; ++i) x.part[i] = join(x.part[i], x.part[i + n]);
  }
  return join_lanes(typename Eight<T>::Tag(), x.part[0], join);
}
template <class T>
HWY_INLINE T sum_of(const Eight<T>& x) {
  return join_all(x, [](auto a, auto b) HWY_ATTR { return hn::Add(a, b); });
}
template <class T>
HWY_INLINE T least_of(const Eight<T>& x) {
  return join_all(x, [](auto a, auto b) HWY_ATTR { return hn::Min(a, b); });
}
template <class T>
HWY_INLINE T greatest_of(const Eight<T>& x) {
  return join_all(x, [](auto a, auto b) HWY_ATTR { return hn::Max(a, b); });
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_EIGHT_INL_H_
