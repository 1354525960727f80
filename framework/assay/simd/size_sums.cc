#include "assay/simd/size_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/size_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using SizeTag = hn::CappedTag<double, kSizedColumns>;
using SizeVec = hn::Vec<SizeTag>;
constexpr std::size_t kSizeLanes = hn::MaxLanes(SizeTag());
constexpr std::size_t kSizeParts = kSizedColumns / kSizeLanes;
// Number of vectors of sums that are computed at once, so that the additions of one fill the
// waiting times of another.
constexpr std::size_t kSizeStreams = 4;

// Adds the sizes of the sums. kCuts is true if chunks may lose a share of their largest terms.
template <bool kCuts>
HWY_INLINE void add_size_sums(const SizedUnit& unit, std::int64_t rows, std::int64_t k,
                              const FactorSizes& a, const FactorSizes& b, double* sums,
                              double* cuts) {
  const SizeTag d;
  const auto zero = hn::Zero(d), least = hn::Set(d, unit.least_normal),
             floor = hn::Set(d, unit.floor), error = hn::Set(d, unit.sum_error),
             share = hn::Set(d, unit.share);
  const std::int64_t vectors = rows * static_cast<std::int64_t>(kSizeParts);
  for (std::int64_t vector = 0; vector < vectors; vector += kSizeStreams) {
    std::int64_t row[kSizeStreams];
    std::size_t column[kSizeStreams], to[kSizeStreams];
    SizeVec sum[kSizeStreams], cut[kSizeStreams], promoted[kSizeStreams], largest[kSizeStreams];
    for (std::size_t s = 0; s < kSizeStreams; ++s) {
      // If the number of vectors is not a multiple of kSizeStreams, the last vector is computed
      // several times.
      const std::int64_t at = std::min(vector + static_cast<std::int64_t>(s), vectors - 1);
      row[s] = at / static_cast<std::int64_t>(kSizeParts) * a.stride;
      column[s] = static_cast<std::size_t>(at) % kSizeParts * kSizeLanes;
      to[s] = static_cast<std::size_t>(at) * kSizeLanes;
      sum[s] = hn::LoadU(d, sums + to[s]);
      cut[s] = hn::LoadU(d, cuts + to[s]);
      promoted[s] = zero;
    }
    for (std::int64_t first = 0, last = 0; first < k; first = last) {
      const std::int64_t interval = unit.promotion_interval;
      last = kCuts ? std::min(k, first + unit.chunk) : k;
      if (kCuts && interval > 0) last = std::min(last, (first / interval + 1) * interval);
      for (std::size_t s = 0; kCuts && s < kSizeStreams; ++s) {
        // An accumulator starts again at 0 after its partial sum was promoted, so its size is sum -
        // promoted.
        if (interval > 0 && first % interval == 0) promoted[s] = sum[s];
        // The sum and `promoted` are rounded, so their difference may be off by the error of both.
        const SizeVec off = hn::Add(hn::Sub(sum[s], promoted[s]), hn::Mul(sum[s], error));
        const SizeVec held = hn::IfThenElse(hn::Eq(sum[s], promoted[s]), zero, off);
        const SizeVec normal = hn::IfThenElse(hn::Eq(held, zero), zero, hn::Max(held, least));
        largest[s] = hn::Max(normal, floor);
      }
      for (std::int64_t kk = first; kk < last; ++kk) {
        ASSAY_UNROLL
        for (std::size_t s = 0; s < kSizeStreams; ++s) {
          const SizeVec size = hn::LoadU(d, b.size + kk * b.stride + column[s]);
          sum[s] = hn::Add(sum[s], hn::Mul(hn::Set(d, a.size[row[s] + kk]), size));
          if constexpr (!kCuts) continue;
          const SizeVec aligned = hn::LoadU(d, b.aligned + kk * b.stride + column[s]);
          largest[s] = hn::Max(largest[s], hn::Mul(hn::Set(d, a.aligned[row[s] + kk]), aligned));
        }
      }
      for (std::size_t s = 0; kCuts && s < kSizeStreams; ++s) {
        cut[s] = hn::Add(cut[s], hn::Mul(share, largest[s]));
      }
    }
    for (std::size_t s = 0; s < kSizeStreams; ++s) {
      hn::StoreU(sum[s], d, sums + to[s]);
      hn::StoreU(cut[s], d, cuts + to[s]);
    }
  }
}

void size_sums_impl(const SizedUnit& unit, std::int64_t rows, std::int64_t k, const FactorSizes& a,
                    const FactorSizes& b, double* sums, double* cuts) {
  unit.share > 0 ? add_size_sums<true>(unit, rows, k, a, b, sums, cuts)
                 : add_size_sums<false>(unit, rows, k, a, b, sums, cuts);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(size_sums_impl);

void size_sums(const SizedUnit& unit, std::int64_t rows, std::int64_t k, const FactorSizes& a,
               const FactorSizes& b, double* sums, double* cuts) {
  HWY_DYNAMIC_DISPATCH(size_sums_impl)(unit, rows, k, a, b, sums, cuts);
}

}  // namespace assay::simd
#endif
