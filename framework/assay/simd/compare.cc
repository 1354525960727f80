#include "assay/simd/compare.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/compare.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
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

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(compare_f64);
HWY_EXPORT(compare_f32);

Comparison compare(const double* actual, const double* expected, std::size_t n, double atol,
                   double rtol) {
  return HWY_DYNAMIC_DISPATCH(compare_f64)(actual, expected, n, atol, rtol);
}
Comparison compare(const float* actual, const float* expected, std::size_t n, double atol,
                   double rtol) {
  return HWY_DYNAMIC_DISPATCH(compare_f32)(actual, expected, n, atol, rtol);
}

}  // namespace assay::simd
#endif
