#include "assay/simd/aligned.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/aligned.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cfenv>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Each element needs a register for its scale and one for its sum. Tiles of 6 x 2 elements fit
// AVX-512's 32 registers, and tiles of 2 x 2 fit 16 registers.
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 2;
constexpr int kVectors = 2;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DS = hn::Rebind<std::int16_t, DF>;
using F = hn::Vec<DF>;
using I = hn::Vec<DI>;
using S = hn::Vec<DS>;
constexpr int kMaxTile = kRows * kVectors * static_cast<int>(hn::MaxLanes(DF()));

int aligned_rows() { return kRows; }
int aligned_columns() { return kVectors * static_cast<int>(hn::Lanes(DF())); }

// Converts float32 to integers, toward zero. Values are in range, so the range check of Highway's
// ConvertTo is not needed.
HWY_INLINE I truncated(F v) {
#if HWY_TARGET <= HWY_AVX3
  return I{_mm512_cvttps_epi32(v.raw)};
#elif HWY_TARGET == HWY_AVX2
  return I{_mm256_cvttps_epi32(v.raw)};
#else
  return hn::ConvertTo(DI(), v);
#endif
}

HWY_NOINLINE void settle_aligned(const std::int32_t* doubtful, std::int64_t begin, std::int64_t end,
                                 float* c, std::int64_t c_stride, const float* before,
                                 const ChunkSettler& settle) {
  const int columns = aligned_columns();
  std::fesetround(FE_TONEAREST);
  for (int i = 0; i < kRows * columns; ++i) {
    if (doubtful[i] >= 0) continue;
    c[i / columns * c_stride + i % columns] =
        settle.call(settle.context, i / columns, i % columns, begin, end, before[i]);
  }
  std::fesetround(FE_TOWARDZERO);
}

// Runs while the processor rounds toward zero. This is a separate function, so that the compiler
// moves no arithmetic across the change of the rounding mode.
HWY_NOINLINE void aligned_toward_zero(const AlignedSpec& spec, std::int64_t k,
                                      const float* HWY_RESTRICT a,
                                      const std::int16_t* HWY_RESTRICT a_exponents,
                                      const float* HWY_RESTRICT b,
                                      const std::int16_t* HWY_RESTRICT b_exponents,
                                      float* HWY_RESTRICT c, std::int64_t c_stride,
                                      const ChunkSettler& settle) {
  const DF df;
  const DI di;
  const DS ds;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(df));
  const std::int64_t columns = kVectors * lanes;
  const I bias = hn::Set(di, 127), field = hn::Set(di, 0xff), twice_bias = hn::Set(di, 254 << 23);
  const I least = hn::Set(di, spec.kept_bits - 126), kept = hn::Set(di, spec.kept_bits + 127);
  const I keep_mask = hn::Set(di, static_cast<std::int32_t>(0xffffffffu << spec.drop_bits));
  for (std::int64_t begin = 0; begin < k; begin += spec.chunk) {
    const std::int64_t end = begin + spec.chunk < k ? begin + spec.chunk : k;
    S largest[kRows][kVectors];
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) largest[r][v] = hn::Set(ds, std::int16_t{-16384});
    }
    for (std::int64_t i = begin; i < end; ++i) {
      S be[kVectors];
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        be[v] = hn::LoadU(ds, b_exponents + i * columns + v * lanes);
      }
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const S ae = hn::Set(ds, a_exponents[i * kRows + r]);
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          largest[r][v] = hn::Max(largest[r][v], hn::Add(ae, be[v]));
        }
      }
    }
    F scale[kRows][kVectors];
    I sum[kRows][kVectors];
    I doubt = hn::Zero(di);  // negative if an element has to be settled
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const I start = hn::BitCast(di, hn::LoadU(df, c + r * c_stride + v * lanes));
        // Subnormal accumulators get the exponent of the smallest normal number. +-0 gets the same
        // low exponent, which is below `least`.
        const I start_exponent = hn::Sub(hn::And(hn::ShiftRight<23>(start), field), bias);
        const I emax = hn::Max(hn::PromoteTo(di, largest[r][v]), start_exponent);
        // If all terms are 0, any exponent will do. If only the products are 0, the exponent of a
        // small accumulator may be below `least`, and the element has to be settled.
        const auto low = hn::And(hn::Lt(emax, least), hn::Ne(hn::Add(start, start), hn::Zero(di)));
        doubt = hn::Or(doubt, hn::VecFromMask(di, low));
        scale[r][v] = hn::BitCast(df, hn::ShiftLeft<23>(hn::Sub(kept, hn::Max(emax, least))));
        sum[r][v] = hn::Zero(di);
      }
    }
    const float* HWY_RESTRICT pa = a + begin * kRows;
    const float* HWY_RESTRICT pb = b + begin * columns;
    for (std::int64_t i = begin; i < end; ++i) {
      F bv[kVectors];
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(df, pb + v * lanes);
      ASSAY_UNROLL
      for (int r = 0; r < kRows; ++r) {
        const F av = hn::Set(df, pa[r]);
        ASSAY_UNROLL
        for (int v = 0; v < kVectors; ++v) {
          sum[r][v] = hn::Add(sum[r][v], truncated(hn::Mul(hn::Mul(av, bv[v]), scale[r][v])));
        }
      }
      pa += kRows;
      pb += columns;
    }
    float before[kMaxTile];
    std::int32_t doubtful[kMaxTile];
    ASSAY_UNROLL
    for (int r = 0; r < kRows; ++r) {
      ASSAY_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        float* out = c + r * c_stride + v * lanes;
        const F start = hn::LoadU(df, out);
        const I term = truncated(hn::Mul(start, scale[r][v]));
        const I total = hn::Add(sum[r][v], term);
        // If the sum of two numbers of one sign has the other sign, it is beyond 32 bits, so the
        // element has to be settled.
        doubt = hn::Or(doubt, hn::And(hn::Xor(sum[r][v], total), hn::Xor(term, total)));
        const F inverse = hn::BitCast(df, hn::Sub(twice_bias, hn::BitCast(di, scale[r][v])));
        const F result = hn::Mul(hn::ConvertTo(df, total), inverse);
        hn::StoreU(start, df, before + r * columns + v * lanes);
        hn::StoreU(hn::BitCast(df, hn::And(hn::BitCast(di, result), keep_mask)), df, out);
        // The sum is kept for the rare case that an element has to be settled. The code below finds
        // out which element.
        hn::StoreU(total, di, doubtful + r * columns + v * lanes);
      }
    }
    if (HWY_UNLIKELY(!hn::AllFalse(di, hn::Lt(doubt, hn::Zero(di))))) {
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectors; ++v) {
          const I start = hn::BitCast(di, hn::LoadU(df, before + r * columns + v * lanes));
          const I start_exponent = hn::Sub(hn::And(hn::ShiftRight<23>(start), field), bias);
          const I emax = hn::Max(hn::PromoteTo(di, largest[r][v]), start_exponent);
          const auto low =
              hn::And(hn::Lt(emax, least), hn::Ne(hn::Add(start, start), hn::Zero(di)));
          const I term = truncated(hn::Mul(hn::BitCast(df, start), scale[r][v]));
          const I total = hn::LoadU(di, doubtful + r * columns + v * lanes);
          const I overflow = hn::And(hn::Xor(hn::Sub(total, term), total), hn::Xor(term, total));
          hn::StoreU(hn::Or(overflow, hn::VecFromMask(di, low)), di,
                     doubtful + r * columns + v * lanes);
        }
      }
      settle_aligned(doubtful, begin, end, c, c_stride, before, settle);
    }
  }
}

void aligned_tile_impl(const AlignedSpec& spec, std::int64_t k, const float* a,
                       const std::int16_t* a_exponents, const float* b,
                       const std::int16_t* b_exponents, float* c, std::int64_t c_stride,
                       const ChunkSettler& settle) {
  const int mode = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  aligned_toward_zero(spec, k, a, a_exponents, b, b_exponents, c, c_stride, settle);
  std::fesetround(mode);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(aligned_rows);
HWY_EXPORT(aligned_columns);
HWY_EXPORT(aligned_tile_impl);

bool has_aligned_tile(const AlignedSpec& spec) {
  // The significand of a product is below 4, so a sum of `chunk` products is below chunk *
  // 2^(kept_bits + 2).
  return spec.kept_bits > 0 && spec.kept_bits <= 28 &&
         (static_cast<std::int64_t>(spec.chunk) << (spec.kept_bits + 2)) <= (std::int64_t{1} << 31);
}

TileShape aligned_tile_shape() {
  return {HWY_DYNAMIC_DISPATCH(aligned_rows)(), HWY_DYNAMIC_DISPATCH(aligned_columns)()};
}

void aligned_tile(const AlignedSpec& spec, std::int64_t k, const float* a,
                  const std::int16_t* a_exponents, const float* b, const std::int16_t* b_exponents,
                  float* c, std::int64_t c_stride, const ChunkSettler& settle) {
  HWY_DYNAMIC_DISPATCH(aligned_tile_impl)
  (spec, k, a, a_exponents, b, b_exponents, c, c_stride, settle);
}

}  // namespace assay::simd
#endif
