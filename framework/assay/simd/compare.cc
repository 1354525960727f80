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
HWY_INLINE std::int64_t count(const T* actual, const T* expected, std::size_t n, double atol,
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
  const auto hit = [&](std::size_t i) HWY_ATTR {
    const auto e = load(expected + i);
    const auto error = hn::Abs(hn::Sub(load(actual + i), e));
    const auto bound = hn::Add(absolute, hn::Mul(relative, hn::Abs(e)));
    return hn::And(hn::Le(error, bound), hn::Le(error, largest));
  };
  std::size_t i = 0;
  std::size_t hits = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto h0 = hit(i), h1 = hit(i + lanes), h2 = hit(i + 2 * lanes), h3 = hit(i + 3 * lanes);
    if (HWY_LIKELY(hn::AllTrue(d, hn::And(hn::And(h0, h1), hn::And(h2, h3))))) {
      hits += 4 * lanes;
    } else {
      hits +=
          hn::CountTrue(d, h0) + hn::CountTrue(d, h1) + hn::CountTrue(d, h2) + hn::CountTrue(d, h3);
    }
  }
  for (; i < n; ++i) {
    const double e = static_cast<double>(expected[i]);
    const double error = std::abs(static_cast<double>(actual[i]) - e);
    const double bound = atol + rtol * std::abs(e);
    hits += error <= std::min(bound, std::numeric_limits<double>::max()) ? 1 : 0;
  }
  return static_cast<std::int64_t>(n - hits);
}

std::int64_t count_f64(const double* actual, const double* expected, std::size_t n, double atol,
                       double rtol) {
  return count(actual, expected, n, atol, rtol);
}
std::int64_t count_f32(const float* actual, const float* expected, std::size_t n, double atol,
                       double rtol) {
  return count(actual, expected, n, atol, rtol);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(count_f64);
HWY_EXPORT(count_f32);

std::int64_t count_misses(const double* actual, const double* expected, std::size_t n, double atol,
                          double rtol) {
  return HWY_DYNAMIC_DISPATCH(count_f64)(actual, expected, n, atol, rtol);
}
std::int64_t count_misses(const float* actual, const float* expected, std::size_t n, double atol,
                          double rtol) {
  return HWY_DYNAMIC_DISPATCH(count_f32)(actual, expected, n, atol, rtol);
}

}  // namespace assay::simd
#endif
