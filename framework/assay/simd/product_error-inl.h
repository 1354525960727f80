// The rounding error of a product, computed in the same way on every target. Compiled once for each
// target.
#if defined(ASSAY_SIMD_PRODUCT_ERROR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ASSAY_SIMD_PRODUCT_ERROR_INL_H_
#undef ASSAY_SIMD_PRODUCT_ERROR_INL_H_
#else
#define ASSAY_SIMD_PRODUCT_ERROR_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Returns a * b - product exactly, where product = a * b rounded (float64). Targets without a fused
// multiply-add use std::fma, lane by lane, because splitting large factors overflows.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V product_error(D d, V a, V b, V product) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, b, product);
#else
  double la[hn::MaxLanes(D())], lb[hn::MaxLanes(D())], lp[hn::MaxLanes(D())];
  hn::StoreU(a, d, la);
  hn::StoreU(b, d, lb);
  hn::StoreU(product, d, lp);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) lp[i] = std::fma(la[i], lb[i], -lp[i]);
  return hn::LoadU(d, lp);
#endif
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // ASSAY_SIMD_PRODUCT_ERROR_INL_H_
