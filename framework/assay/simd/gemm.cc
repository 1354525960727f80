#include "assay/simd/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// AVX-512 has 32 registers: 6 x 4 accumulators, 4 for B, 1 for A. Others have 16: 4 x 2.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;

int tile_rows() { return kRows; }
int tile_columns() { return kVectors * static_cast<int>(hn::Lanes(hn::ScalableTag<double>())); }

template <bool kGuarded>
HWY_INLINE void tile(int chunk, std::int64_t k, const double* HWY_RESTRICT a,
                     const double* HWY_RESTRICT b, float* HWY_RESTRICT c, std::int64_t c_stride,
                     double guard, std::uint32_t* HWY_RESTRICT unsure) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  const hn::RebindToUnsigned<decltype(df)> du;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V width = hn::Set(d, guard);
  V acc[kRows][kVectors];
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = hn::PromoteTo(d, hn::LoadU(df, c + r * c_stride + v * lanes));
    }
  }
  for (std::int64_t begin = 0; begin < k; begin += chunk) {
    const std::int64_t end = begin + chunk < k ? begin + chunk : k;
    for (std::int64_t i = begin; i < end; ++i) {
      V bv[kVectors];
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const V av = hn::Set(d, a[r]);
        // The product is exact, so fused and separate multiply-add agree.
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
      }
      a += kRows;
      b += kVectors * lanes;
    }
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto rounded = hn::DemoteTo(df, acc[r][v]);
        if constexpr (kGuarded) {
          const auto low = hn::DemoteTo(df, hn::Sub(acc[r][v], width));
          const auto high = hn::DemoteTo(df, hn::Add(acc[r][v], width));
          std::uint32_t* flags = unsure + r * c_stride + v * lanes;
          const auto differ = hn::Xor(hn::BitCast(du, low), hn::BitCast(du, high));
          hn::StoreU(hn::Or(hn::LoadU(du, flags), differ), du, flags);
        }
        acc[r][v] = hn::PromoteTo(d, rounded);
      }
    }
  }
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::DemoteTo(df, acc[r][v]), df, c + r * c_stride + v * lanes);
    }
  }
}

void chunk_tile_impl(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                     std::int64_t c_stride) {
  tile<false>(chunk, k, a, b, c, c_stride, 0, nullptr);
}
void chunk_tile_guarded_impl(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                             std::int64_t c_stride, double guard, std::uint32_t* unsure) {
  tile<true>(chunk, k, a, b, c, c_stride, guard, unsure);
}

// high + low rounded to float32 as their exact sum: to odd in float64 first, then to nearest.
template <class D, class V>
HWY_INLINE auto demote_sum(D d, V high, V low) {
  const hn::Rebind<float, D> df;
  const hn::RebindToUnsigned<D> du;
  const V sum = hn::Add(high, low);
  const V part = hn::Sub(sum, high);
  const V rest = hn::Add(hn::Sub(high, hn::Sub(sum, part)), hn::Sub(low, part));
  const auto bits = hn::BitCast(du, sum);
  const auto one = hn::Set(du, std::uint64_t{1});
  // The neighbour of an even sum on the side of what was rounded away: one up in size where the
  // signs agree, one down where they differ.
  const auto differ = hn::ShiftRight<63>(hn::Xor(bits, hn::BitCast(du, rest)));
  const auto odd = hn::Sub(hn::Add(bits, one), hn::ShiftLeft<1>(differ));
  const auto is_odd = hn::And(bits, one);
  const auto moved = hn::IfThenElse(hn::Eq(is_odd, one), bits, odd);
  const auto exact = hn::Eq(rest, hn::Zero(d));
  return hn::DemoteTo(df, hn::IfThenElse(exact, sum, hn::BitCast(d, moved)));
}

void chunk_tile_split_impl(int chunk, std::int64_t k, const double* HWY_RESTRICT a,
                           const double* HWY_RESTRICT b, float* HWY_RESTRICT c,
                           std::int64_t c_stride, double quantum) {
  // Two accumulators an element: half as many columns at a time.
  constexpr int kHalf = kVectors / 2;
  const hn::ScalableTag<double> d;
  const hn::Rebind<float, decltype(d)> df;
  using V = hn::Vec<decltype(d)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Adding 1.5 * 2^52 quanta rounds to a multiple of the quantum.
  const V magic = hn::Set(d, quantum * 0x1.8p52);
  for (int half = 0; half < 2; ++half) {
    const std::int64_t first = half * kHalf * lanes;
    V high[kRows][kHalf], low[kRows][kHalf];
    const auto split = [&](V value, int r, int v) HWY_ATTR {
      high[r][v] = hn::Sub(hn::Add(value, magic), magic);
      low[r][v] = hn::Sub(value, high[r][v]);
    };
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kHalf; ++v) {
        split(hn::PromoteTo(d, hn::LoadU(df, c + r * c_stride + first + v * lanes)), r, v);
      }
    }
    for (std::int64_t begin = 0; begin < k; begin += chunk) {
      const std::int64_t end = begin + chunk < k ? begin + chunk : k;
      for (std::int64_t i = begin; i < end; ++i) {
        V bv[kHalf];
        ASSAY_UNROLL
        for (int v = 0; v < kHalf; ++v) {
          bv[v] = hn::LoadU(d, b + i * kVectors * lanes + first + v * lanes);
        }
        ASSAY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const V av = hn::Set(d, a[i * kRows + r]);
          ASSAY_UNROLL
          for (int v = 0; v < kHalf; ++v) {
            const V part = hn::Sub(hn::MulAdd(av, bv[v], magic), magic);
            high[r][v] = hn::Add(high[r][v], part);
            low[r][v] = hn::Add(low[r][v], hn::MulSub(av, bv[v], part));
          }
        }
      }
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        ASSAY_UNROLL
        for (int v = 0; v < kHalf; ++v) {
          const auto rounded = demote_sum(d, high[r][v], low[r][v]);
          hn::StoreU(rounded, df, c + r * c_stride + first + v * lanes);
          split(hn::PromoteTo(d, rounded), r, v);
        }
      }
    }
  }
}

// The rounding error of a product. Targets without a fused multiply-add leave it to std::fma, lane
// by lane: splitting the factors instead overflows for large ones.
template <class D, class V>
HWY_INLINE V product_error(D d, V a, V b, V product) {
#if HWY_TARGET <= HWY_AVX2
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

void axpy_compensated_impl(std::int64_t n, double a, const double* HWY_RESTRICT b,
                           double* HWY_RESTRICT c, double* HWY_RESTRICT error) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto av = hn::Set(d, a);
  std::int64_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const auto bv = hn::LoadU(d, b + j), cv = hn::LoadU(d, c + j);
    const auto product = hn::Mul(av, bv);
    const auto sum = hn::Add(cv, product);
    const auto z = hn::Sub(sum, cv);
    const auto sum_error = hn::Add(hn::Sub(cv, hn::Sub(sum, z)), hn::Sub(product, z));
    const auto both = hn::Add(sum_error, product_error(d, av, bv, product));
    hn::StoreU(sum, d, c + j);
    hn::StoreU(hn::Add(hn::LoadU(d, error + j), both), d, error + j);
  }
  for (; j < n; ++j) {
    const double product = a * b[j];
    const double sum = c[j] + product;
    const double z = sum - c[j];
    const double sum_error = (c[j] - (sum - z)) + (product - z);
    error[j] += sum_error + std::fma(a, b[j], -product);
    c[j] = sum;
  }
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::simd {

HWY_EXPORT(tile_rows);
HWY_EXPORT(tile_columns);
HWY_EXPORT(chunk_tile_impl);
HWY_EXPORT(chunk_tile_split_impl);
HWY_EXPORT(chunk_tile_guarded_impl);
HWY_EXPORT(axpy_compensated_impl);

TileShape chunk_tile_shape() {
  return {HWY_DYNAMIC_DISPATCH(tile_rows)(), HWY_DYNAMIC_DISPATCH(tile_columns)()};
}

void chunk_tile(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(chunk_tile_impl)(chunk, k, a, b, c, c_stride);
}

void chunk_tile_split(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                      std::int64_t c_stride, double quantum) {
  HWY_DYNAMIC_DISPATCH(chunk_tile_split_impl)(chunk, k, a, b, c, c_stride, quantum);
}

void chunk_tile_guarded(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                        std::int64_t c_stride, double guard, std::uint32_t* unsure) {
  HWY_DYNAMIC_DISPATCH(chunk_tile_guarded_impl)(chunk, k, a, b, c, c_stride, guard, unsure);
}

void axpy_compensated(std::int64_t n, double a, const double* b, double* c, double* error) {
  HWY_DYNAMIC_DISPATCH(axpy_compensated_impl)(n, a, b, c, error);
}

}  // namespace assay::simd
#endif
