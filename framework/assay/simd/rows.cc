#include "assay/simd/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;

RowRange row_range_impl(std::int64_t n, const double* x) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto zero = hn::Zero(d), infinity = hn::Set(d, std::numeric_limits<double>::infinity());
  auto square = zero, smallest = infinity, largest = zero;
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto size = hn::Abs(hn::LoadU(d, x + i));
    square = hn::MulAdd(size, size, square);
    largest = hn::Max(largest, size);
    smallest = hn::Min(smallest, hn::IfThenElse(hn::Eq(size, zero), infinity, size));
  }
  RowRange range{hn::GetLane(hn::SumOfLanes(d, square)), hn::GetLane(hn::MinOfLanes(d, smallest)),
                 hn::GetLane(hn::MaxOfLanes(d, largest))};
  for (; i < n; ++i) {
    const double size = std::abs(x[i]);
    range.square += size * size;
    range.largest = std::max(range.largest, size);
    if (size != 0) range.smallest = std::min(range.smallest, size);
  }
  return range;
}

std::int64_t chunk_row_impl(int chunk, std::int64_t n, const double* a, const double* b, float& c) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t end = std::min<std::int64_t>(begin + chunk, n);
    auto products = hn::Zero(d);
    std::int64_t i = begin;
    for (; i + lanes <= end; i += lanes) {
      products = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), products);
    }
    double sum = static_cast<double>(c) + hn::GetLane(hn::SumOfLanes(d, products));
    for (; i < end; ++i) sum += a[i] * b[i];
    const auto rounded = static_cast<float>(sum);
    if (rounded == 0) return begin;
    c = rounded;
  }
  return n;
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(row_range_impl);
HWY_EXPORT(chunk_row_impl);

RowRange row_range(std::int64_t n, const double* x) {
  return HWY_DYNAMIC_DISPATCH(row_range_impl)(n, x);
}

std::int64_t chunk_row(int chunk, std::int64_t n, const double* a, const double* b, float& c) {
  return HWY_DYNAMIC_DISPATCH(chunk_row_impl)(chunk, n, a, b, c);
}

}  // namespace assay::simd
#endif
