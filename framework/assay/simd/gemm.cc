#include "assay/simd/gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/gemm.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>
#include <utility>

#include "assay/simd/product_error-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// Registers of a tile. AVX-512 and NEON have 32: 6 x 4 for accumulators, 4 for B and 1 for A. AVX2
// has 16: 6 x 2 for accumulators, 2 for B and 1 for A. SSE4 has 16 too, but needs one for a product
// before it is added: 4 x 2 for accumulators, 2 for B, 1 for A and 1 for the product.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64;
constexpr int kRows = kManyRegisters || HWY_NATIVE_FMA ? 6 : 4;
constexpr int kVectors = kManyRegisters ? 4 : 2;

int tile_rows() { return kRows; }
int tile_columns() { return kVectors * static_cast<int>(hn::Lanes(hn::ScalableTag<double>())); }

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
using DF = hn::Rebind<float, D>;
using DU = hn::RebindToUnsigned<DF>;
constexpr int kMaxTile = kRows * kVectors * static_cast<int>(hn::MaxLanes(D()));

// Settles the elements of a chunk whose rounding is in doubt: sum - guard and sum + guard round to
// different numbers.
HWY_NOINLINE void settle_chunk(const double* sums, double guard, std::int64_t begin,
                               std::int64_t end, const float* before, const ChunkSettler& settle,
                               float* after) {
  const D d;
  const DF df;
  const DU du;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  const int columns = tile_columns();
  const V width = hn::Set(d, guard);
  for (int i = 0; i < kRows * columns; i += lanes) {
    const V sum = hn::LoadU(d, sums + i);
    const auto low = hn::BitCast(du, hn::DemoteTo(df, hn::Sub(sum, width)));
    const auto high = hn::BitCast(du, hn::DemoteTo(df, hn::Add(sum, width)));
    if (hn::AllTrue(du, hn::Eq(low, high))) continue;
    std::uint32_t differ[hn::MaxLanes(D())];
    hn::StoreU(hn::Xor(low, high), du, differ);
    for (int lane = 0; lane < lanes; ++lane) {
      if (differ[lane] == 0) continue;
      const int at = i + lane;
      after[at] = settle.call(settle.context, at / columns, at % columns, begin, end, before[at]);
    }
  }
}

template <bool kGuarded>
HWY_INLINE void tile(int chunk, std::int64_t k, const double* HWY_RESTRICT a,
                     const double* HWY_RESTRICT b, float* HWY_RESTRICT c, std::int64_t c_stride,
                     double guard, const ChunkSettler* settle) {
  const D d;
  const DF df;
  const DU du;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t columns = kVectors * lanes;
  const V width = hn::Set(d, guard);
  // The accumulators before and after a chunk. They are only stored if elements may have to be
  // settled.
  HWY_ALIGN float kept[2][kGuarded ? kMaxTile : 1];
  float *before = kept[0], *after = kept[1];
  V acc[kRows][kVectors];
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto start = hn::LoadU(df, c + r * c_stride + v * lanes);
      if constexpr (kGuarded) hn::StoreU(start, df, before + r * columns + v * lanes);
      acc[r][v] = hn::PromoteTo(d, start);
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
        // The product is exact, so a multiply-add has the same result with and without fusing.
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
      }
      a += kRows;
      b += columns;
    }
    if constexpr (!kGuarded) {
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          acc[r][v] = hn::PromoteTo(d, hn::DemoteTo(df, acc[r][v]));
        }
      }
      continue;
    }
    auto differ = hn::Zero(du);
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const auto low = hn::DemoteTo(df, hn::Sub(acc[r][v], width));
        const auto high = hn::DemoteTo(df, hn::Add(acc[r][v], width));
        differ = hn::Or(differ, hn::Xor(hn::BitCast(du, low), hn::BitCast(du, high)));
        hn::StoreU(high, df, after + r * columns + v * lanes);
      }
    }
    if (HWY_UNLIKELY(!hn::AllTrue(du, hn::Eq(differ, hn::Zero(du))))) {
      double sums[kMaxTile];
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          hn::StoreU(acc[r][v], d, sums + r * columns + v * lanes);
        }
      }
      settle_chunk(sums, guard, begin, end, before, *settle, after);
    }
    std::swap(before, after);
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        acc[r][v] = hn::PromoteTo(d, hn::LoadU(df, before + r * columns + v * lanes));
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
                             std::int64_t c_stride, double guard, const ChunkSettler& settle) {
  tile<true>(chunk, k, a, b, c, c_stride, guard, &settle);
}

// Returns the error of the rounded sum `after` = before + added (TwoSum).
HWY_INLINE V sum_error(V before, V added, V after) {
  const V z = hn::Sub(after, before);
  return hn::Add(hn::Sub(before, hn::Sub(after, z)), hn::Sub(added, z));
}

// Adds `added` to sum, and the rounding error of this addition and `rest` to error. `rest` is too
// small to become part of sum.
HWY_INLINE void carry(V added, V rest, V& sum, V& error, V& spread) {
  const V before = sum;
  sum = hn::Add(before, added);
  error = hn::Add(error, hn::Add(sum_error(before, added, sum), rest));
  spread = hn::Add(spread, hn::Abs(error));
}

// Like carry(), for sums in memory. `lost` is added to their spread.
HWY_INLINE void add_in_two(V added, V rest, V lost, CompensatedSums to, std::int64_t at) {
  const D d;
  V sum = hn::LoadU(d, to.sum + at), error = hn::LoadU(d, to.error + at);
  V spread = hn::LoadU(d, to.spread + at);
  carry(added, rest, sum, error, spread);
  hn::StoreU(sum, d, to.sum + at);
  hn::StoreU(error, d, to.error + at);
  hn::StoreU(hn::Add(spread, lost), d, to.spread + at);
}

// Sums the products of a tile, and passes the sums to `add`, vector by vector. Each of these sums
// is exact.
template <class Add>
HWY_INLINE void exact_products(std::int64_t k, const double* HWY_RESTRICT a,
                               const double* HWY_RESTRICT b, const Add& add) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V acc[kRows][kVectors];
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    // -0 is the start value, because adding a zero of either sign to it gives that zero.
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Set(d, -0.0);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    V bv[kVectors];
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, b + v * lanes);
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const V av = hn::Set(d, a[r]);
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::MulAdd(av, bv[v], acc[r][v]);
    }
    a += kRows;
    b += kVectors * lanes;
  }
  ASSAY_UNROLL
  for (int r = 0; r < kRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kVectors; ++v) add(acc[r][v], r, v * lanes);
  }
}

void exact_tile_impl(std::int64_t k, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b,
                     CompensatedSums to, std::int64_t stride) {
  const D d;
  exact_products(k, a, b, [&](V acc, std::int64_t row, std::int64_t column) HWY_ATTR {
    add_in_two(acc, hn::Zero(d), hn::Zero(d), to, row * stride + column);
  });
}

void exact_sums_impl(std::int64_t k, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b,
                     double* sum, std::int64_t stride) {
  const D d;
  exact_products(k, a, b, [&](V acc, std::int64_t row, std::int64_t column) HWY_ATTR {
    double* to = sum + row * stride + column;
    hn::StoreU(hn::Add(hn::LoadU(d, to), acc), d, to);
  });
}

// Sums the products of a tile in two parts. Each element has two accumulators, so only half of the
// tile's columns fit into the registers at a time.
void tile_in_two_impl(std::int64_t k, const double* HWY_RESTRICT a, const double* HWY_RESTRICT b,
                      double middle, double lost, CompensatedSums to, std::int64_t stride) {
  constexpr int kHalf = kVectors / 2;
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (int half = 0; half < 2; ++half) {
    const std::int64_t column = lanes * kHalf * half;
    V sum[kRows][kHalf], rest[kRows][kHalf];
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kHalf; ++v) {
        sum[r][v] = hn::Set(d, middle);
        rest[r][v] = hn::Zero(d);
      }
    }
    for (std::int64_t i = 0; i < k; ++i) {
      V bv[kHalf];
      ASSAY_UNROLL
      for (int v = 0; v < kHalf; ++v) {
        bv[v] = hn::LoadU(d, b + i * kVectors * lanes + column + v * lanes);
      }
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const V av = hn::Set(d, a[i * kRows + r]);
        ASSAY_UNROLL
        for (int v = 0; v < kHalf; ++v) {
#if HWY_NATIVE_FMA
          const V next = hn::MulAdd(av, bv[v], sum[r][v]), taken = hn::Sub(next, sum[r][v]);
          rest[r][v] = hn::Add(rest[r][v], hn::MulSub(av, bv[v], taken));
#else
          const V product = hn::Mul(av, bv[v]), next = hn::Add(product, sum[r][v]);
          V left = hn::Sub(product, hn::Sub(next, sum[r][v]));
          if (lost != 0) left = hn::Add(left, product_error(d, av, bv[v], product));
          rest[r][v] = hn::Add(rest[r][v], left);
#endif
          sum[r][v] = next;
        }
      }
    }
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kHalf; ++v) {
        add_in_two(hn::Sub(sum[r][v], hn::Set(d, middle)), rest[r][v], hn::Set(d, lost), to,
                   r * stride + column + v * lanes);
      }
    }
  }
}

bool tile_is_multiple_impl(const float* c, std::int64_t c_stride, int lowest, double& largest) {
  const hn::ScalableTag<float> df;
  const auto lanes = static_cast<int>(hn::Lanes(df));
  const int columns = tile_columns();
  const auto infinity = hn::Inf(df);
  auto high = hn::Zero(df), low = infinity;
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < columns; j += lanes) {
      const auto x = hn::Abs(hn::LoadU(df, c + r * c_stride + j));
      high = hn::Max(high, x);
      low = hn::Min(low, hn::IfThenElse(hn::Eq(x, hn::Zero(df)), infinity, x));
    }
  }
  largest = static_cast<double>(hn::GetLane(hn::MaxOfLanes(df, high)));
  const auto smallest = static_cast<double>(hn::GetLane(hn::MinOfLanes(df, low)));
  // All 24 bits of elements that are so large weigh at least 2^lowest.
  if (smallest >= std::ldexp(1.0, lowest + 23)) return true;
  const double scale = std::ldexp(1.0, -lowest);
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < columns; ++j) {
      const double x = scale * static_cast<double>(c[r * c_stride + j]);
      if (x != std::floor(x)) return false;
    }
  }
  return true;
}

// Shape of the tiles of chain_tile(): AVX-512 has registers for 12 rows of 2 vectors, and other
// targets for 4 rows of 2 vectors.
constexpr int kChainRows = HWY_TARGET <= HWY_AVX3 ? 12 : 4;
constexpr int kChainVectors = 2;
int chain_rows() { return kChainRows; }
int chain_columns() {
  return kChainVectors * static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
}
int fused_chain() { return HWY_TARGET <= HWY_AVX2 ? 1 : 0; }

template <bool kFused>
HWY_INLINE void chain(std::int64_t k, const float* HWY_RESTRICT a, const float* HWY_RESTRICT b,
                      float* HWY_RESTRICT c, std::int64_t c_stride) {
  const hn::ScalableTag<float> df;
  using F = hn::Vec<decltype(df)>;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  F acc[kChainRows][kChainVectors];
  ASSAY_UNROLL
  for (int r = 0; r < kChainRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kChainVectors; ++v) {
      acc[r][v] = hn::LoadU(df, c + r * c_stride + v * lanes);
    }
  }
  for (std::int64_t i = 0; i < k; ++i) {
    F bv[kChainVectors];
    ASSAY_UNROLL
    for (int v = 0; v < kChainVectors; ++v) bv[v] = hn::LoadU(df, b + v * lanes);
    ASSAY_UNROLL
    for (int r = 0; r < kChainRows; ++r) {
      const F av = hn::Set(df, a[r]);
      ASSAY_UNROLL
      for (int v = 0; v < kChainVectors; ++v) {
        acc[r][v] =
            kFused ? hn::MulAdd(av, bv[v], acc[r][v]) : hn::Add(hn::Mul(av, bv[v]), acc[r][v]);
      }
    }
    a += kChainRows;
    b += kChainVectors * lanes;
  }
  ASSAY_UNROLL
  for (int r = 0; r < kChainRows; ++r) {
    ASSAY_UNROLL
    for (int v = 0; v < kChainVectors; ++v) {
      hn::StoreU(acc[r][v], df, c + r * c_stride + v * lanes);
    }
  }
}
void chain_tile_impl(bool fused, std::int64_t k, const float* a, const float* b, float* c,
                     std::int64_t c_stride) {
  if (fused) {
    chain<true>(k, a, b, c, c_stride);
  } else {
    chain<false>(k, a, b, c, c_stride);
  }
}

// Adds a b to sum, and the rounding errors of the product and the addition to error.
HWY_INLINE void add_product(V a, V b, V& sum, V& error, V& spread) {
  const V product = hn::Mul(a, b);
  carry(product, product_error(D(), a, b, product), sum, error, spread);
}

// Like carry(), for one element in memory whose sum already has an error. `lost` is added to its
// spread.
HWY_INLINE void add_one(double added, double rest, double lost, CompensatedSums to) {
  const double before = *to.sum, sum = before + added, z = sum - before;
  *to.sum = sum;
  *to.error += (before - (sum - z)) + (added - z) + rest;
  *to.spread += std::abs(*to.error) + lost;
}
HWY_INLINE void add_one_product(double a, double b, CompensatedSums to) {
  const double product = a * b;
  add_one(product, std::fma(a, b, -product), 0, to);
}

// Adds the products of kCount vectors of columns, whose sums stay in registers.
template <int kCount>
HWY_INLINE void compensated_columns(std::int64_t k, const double* HWY_RESTRICT a,
                                    const double* HWY_RESTRICT b, std::int64_t stride,
                                    CompensatedSums to) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sum[kCount], error[kCount], spread[kCount];
  ASSAY_UNROLL
  for (int v = 0; v < kCount; ++v) {
    sum[v] = hn::LoadU(d, to.sum + v * lanes);
    error[v] = hn::LoadU(d, to.error + v * lanes);
    spread[v] = hn::LoadU(d, to.spread + v * lanes);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    const V av = hn::Set(d, a[i]);
    ASSAY_UNROLL
    for (int v = 0; v < kCount; ++v) {
      add_product(av, hn::LoadU(d, b + i * stride + v * lanes), sum[v], error[v], spread[v]);
    }
  }
  ASSAY_UNROLL
  for (int v = 0; v < kCount; ++v) {
    hn::StoreU(sum[v], d, to.sum + v * lanes);
    hn::StoreU(error[v], d, to.error + v * lanes);
    hn::StoreU(spread[v], d, to.spread + v * lanes);
  }
}

void columns_compensated_impl(std::int64_t n, std::int64_t k, const double* HWY_RESTRICT a,
                              const double* HWY_RESTRICT b, std::int64_t stride,
                              CompensatedSums to) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(D()));
  const auto from = [&](std::int64_t j) {
    return CompensatedSums{to.sum + j, to.error + j, to.spread + j};
  };
  std::int64_t j = 0;
  for (; j + kVectors * lanes <= n; j += kVectors * lanes) {
    compensated_columns<kVectors>(k, a, b + j, stride, from(j));
  }
  for (; j + lanes <= n; j += lanes) compensated_columns<1>(k, a, b + j, stride, from(j));
  for (; j < n; ++j) {
    for (std::int64_t i = 0; i < k; ++i) add_one_product(a[i], b[i * stride + j], from(j));
  }
}

void dot_compensated_impl(std::int64_t k, const double* HWY_RESTRICT a,
                          const double* HWY_RESTRICT b, CompensatedSums to) {
  const D d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  V sum = hn::Set(d, -0.0), error = hn::Zero(d), spread = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes <= k; i += lanes) {
    add_product(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum, error, spread);
  }
  double sums[hn::MaxLanes(D())], errors[hn::MaxLanes(D())], spreads[hn::MaxLanes(D())];
  hn::StoreU(sum, d, sums);
  hn::StoreU(error, d, errors);
  hn::StoreU(spread, d, spreads);
  if (i > 0) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      add_one(sums[lane], errors[lane], spreads[lane], to);
    }
  }
  for (; i < k; ++i) add_one_product(a[i], b[i], to);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(tile_rows);
HWY_EXPORT(tile_columns);
HWY_EXPORT(chunk_tile_impl);
HWY_EXPORT(chunk_tile_guarded_impl);
HWY_EXPORT(exact_tile_impl);
HWY_EXPORT(exact_sums_impl);
HWY_EXPORT(tile_in_two_impl);
HWY_EXPORT(tile_is_multiple_impl);
HWY_EXPORT(chain_rows);
HWY_EXPORT(chain_columns);
HWY_EXPORT(fused_chain);
HWY_EXPORT(chain_tile_impl);
HWY_EXPORT(columns_compensated_impl);
HWY_EXPORT(dot_compensated_impl);

TileShape chunk_tile_shape() {
  return {HWY_DYNAMIC_DISPATCH(tile_rows)(), HWY_DYNAMIC_DISPATCH(tile_columns)()};
}

void chunk_tile(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(chunk_tile_impl)(chunk, k, a, b, c, c_stride);
}

void chunk_tile_guarded(int chunk, std::int64_t k, const double* a, const double* b, float* c,
                        std::int64_t c_stride, double guard, const ChunkSettler& settle) {
  HWY_DYNAMIC_DISPATCH(chunk_tile_guarded_impl)(chunk, k, a, b, c, c_stride, guard, settle);
}

void exact_tile(std::int64_t k, const double* a, const double* b, CompensatedSums to,
                std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(exact_tile_impl)(k, a, b, to, stride);
}

void exact_sums(std::int64_t k, const double* a, const double* b, double* sum,
                std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(exact_sums_impl)(k, a, b, sum, stride);
}

void tile_in_two(std::int64_t k, const double* a, const double* b, double middle, double lost,
                 CompensatedSums to, std::int64_t stride) {
  HWY_DYNAMIC_DISPATCH(tile_in_two_impl)(k, a, b, middle, lost, to, stride);
}

bool tile_is_multiple(const float* c, std::int64_t c_stride, int lowest, double& largest) {
  return HWY_DYNAMIC_DISPATCH(tile_is_multiple_impl)(c, c_stride, lowest, largest);
}

TileShape chain_tile_shape() {
  return {HWY_DYNAMIC_DISPATCH(chain_rows)(), HWY_DYNAMIC_DISPATCH(chain_columns)()};
}
bool has_fused_chain() { return HWY_DYNAMIC_DISPATCH(fused_chain)() != 0; }

void chain_tile(bool fused, std::int64_t k, const float* a, const float* b, float* c,
                std::int64_t c_stride) {
  HWY_DYNAMIC_DISPATCH(chain_tile_impl)(fused, k, a, b, c, c_stride);
}

void columns_compensated(std::int64_t n, std::int64_t k, const double* a, const double* b,
                         std::int64_t stride, CompensatedSums to) {
  HWY_DYNAMIC_DISPATCH(columns_compensated_impl)(n, k, a, b, stride, to);
}

void dot_compensated(std::int64_t k, const double* a, const double* b, CompensatedSums to) {
  HWY_DYNAMIC_DISPATCH(dot_compensated_impl)(k, a, b, to);
}

}  // namespace assay::simd
#endif
