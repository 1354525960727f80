#include "assay/simd/elements_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/elements_kernel.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "assay/simd/product_error-inl.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

// Computes the sums of one vector of columns. Only its first `count` lanes are used.
void columns_of(std::int64_t k, std::size_t count, std::int64_t chunk, const double* a,
                const double* b, std::ptrdiff_t stride, const double* start, ElementSums* to) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  double lane[hn::MaxLanes(D())] = {};
  for (std::size_t j = 0; start != nullptr && j < count; ++j) lane[j] = start[j];
  const V first = hn::LoadU(d, lane);
  V sum = hn::Zero(d), error = sum;
  V absolute = hn::Abs(first), squares = hn::Mul(first, first), prefix_squares = sum;
  for (std::int64_t kk = 0; kk < k;) {
    for (const std::int64_t end = std::min(kk + chunk, k); kk < end; ++kk) {
      const double* row = b + kk * stride;
      V bv;
      if (count == lanes) {
        bv = hn::LoadU(d, row);
      } else {
        std::copy(row, row + count, lane);
        bv = hn::LoadU(d, lane);
      }
      const V av = hn::Set(d, a[kk]);
      const V product = hn::Mul(av, bv), next = hn::Add(sum, product);
      const V z = hn::Sub(next, sum);
      const V sum_error = hn::Add(hn::Sub(sum, hn::Sub(next, z)), hn::Sub(product, z));
      error = hn::Add(error, hn::Add(sum_error, product_error(d, av, bv, product)));
      sum = next;
      absolute = hn::Add(absolute, hn::Abs(product));
      squares = hn::Add(squares, hn::Mul(product, product));
    }
    const V prefix = hn::Add(sum, first);
    prefix_squares = hn::Add(prefix_squares, hn::Mul(prefix, prefix));
  }
  double sums[hn::MaxLanes(D())], errors[hn::MaxLanes(D())];
  double all[3][hn::MaxLanes(D())];
  hn::StoreU(sum, d, sums);
  hn::StoreU(error, d, errors);
  hn::StoreU(absolute, d, all[0]);
  hn::StoreU(squares, d, all[1]);
  hn::StoreU(prefix_squares, d, all[2]);
  for (std::size_t j = 0; j < count; ++j) {
    const double reference = std::isfinite(sums[j]) ? sums[j] + errors[j] : sums[j];
    to[j] = {start != nullptr ? reference + start[j] : reference, all[0][j], all[1][j], all[2][j]};
  }
}

void element_sums_impl(std::int64_t k, std::int64_t n, std::int64_t chunk, const double* a,
                       const double* b, std::ptrdiff_t stride, const double* start,
                       ElementSums* to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  for (std::int64_t j = 0; j < n; j += lanes) {
    columns_of(k, static_cast<std::size_t>(std::min(lanes, n - j)), chunk, a, b + j, stride,
               start != nullptr ? start + j : nullptr, to + j);
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(element_sums_impl);

void element_sums(std::int64_t k, std::int64_t n, std::int64_t chunk, const double* a,
                  const double* b, std::ptrdiff_t stride, const double* start, ElementSums* to) {
  HWY_DYNAMIC_DISPATCH(element_sums_impl)(k, n, chunk, a, b, stride, start, to);
}

}  // namespace assay::simd
#endif
