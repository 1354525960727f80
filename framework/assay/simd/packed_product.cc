#include "assay/simd/packed_product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/packed_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "assay/simd/stored-inl.h"
#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {

// The shape of the product's register tile. A panel has kDepth rows of the tile's columns. The
// terms of an element are added in order within kDepth, by fused multiply-adds, and these partial
// sums are added one after the other. So the result does not depend on the width of a vector.
using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;
constexpr int kRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;
constexpr int kVectors = HWY_TARGET <= HWY_AVX3 ? 4 : 2;
constexpr std::int64_t kDepth = 256;

HWY_INLINE std::int64_t panel_columns() {
  return kVectors * static_cast<std::int64_t>(hn::Lanes(D()));
}

std::size_t packed_size_impl(std::int64_t k, std::int64_t n) {
  const std::int64_t columns = panel_columns();
  return static_cast<std::size_t>((n + columns - 1) / columns * columns * k);
}

// Packs row kk of b. The layout is [depth block][panel][k][column], with zeros beyond the last
// column.
void pack_row_impl(std::int64_t k, std::int64_t n, std::int64_t kk, const double* row,
                   double* packed) {
  const std::int64_t columns = panel_columns();
  const std::int64_t k0 = kk / kDepth * kDepth, depth = std::min(kDepth, k - k0);
  const std::int64_t panels = (n + columns - 1) / columns;
  double* to = packed + k0 * panels * columns + (kk - k0) * columns;
  for (std::int64_t j = 0; j < n; j += columns, to += depth * columns) {
    const std::int64_t used = std::min(columns, n - j);
    std::memcpy(to, row + j, static_cast<std::size_t>(used) * sizeof(double));
    std::fill(to + used, to + columns, 0.0);
  }
}

// Reads the elements [0, count) of a row as float64, squared if `squared` is set.
template <Storage kStorage>
HWY_INLINE void load_row(const unsigned char* from, std::int64_t count, bool squared, double* to) {
  using L = Loader<kStorage>;
  const Doubles::Tag d;
  constexpr auto kPart = static_cast<std::int64_t>(Doubles::kPart);
  std::int64_t i = 0;
  for (; i + kPart <= count; i += kPart) {
    const auto v = L::load_vector(from + i * static_cast<std::int64_t>(L::kBytes));
    hn::StoreU(squared ? hn::Mul(v, v) : v, d, to + i);
  }
  for (; i < count; ++i) {
    const double v = L::load_one(from + i * static_cast<std::int64_t>(L::kBytes));
    to[i] = squared ? v * v : v;
  }
}

template <Storage kStorage>
HWY_INLINE void multiply_packed_of(const void* rows, std::ptrdiff_t stride, std::int64_t count,
                                   std::int64_t n, std::int64_t k, bool squared,
                                   const double* packed, double* c) {
  const D d;
  const std::int64_t columns = panel_columns();
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t strips = (count + kRows - 1) / kRows;
  const auto* bytes = static_cast<const unsigned char*>(rows);
  std::vector<double> packed_a(static_cast<std::size_t>(strips * kRows * kDepth));
  std::fill_n(c, count * n, 0.0);
  for (std::int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const std::int64_t depth = std::min(kDepth, k - k0);
    for (std::int64_t i = 0; i < strips * kRows; ++i) {
      double row[kDepth] = {};
      if (i < count) {
        load_row<kStorage>(
            bytes + i * stride + k0 * static_cast<std::int64_t>(Loader<kStorage>::kBytes), depth,
            squared, row);
      }
      double* to = packed_a.data() + i / kRows * kRows * kDepth + i % kRows;
      for (std::int64_t kk = 0; kk < depth; ++kk) to[kk * kRows] = row[kk];
    }
    for (std::int64_t j = 0; j < n; j += columns, packed += depth * columns) {
      for (std::int64_t s = 0; s < strips; ++s) {
        V acc[kRows][kVectors];
        ASSAY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          ASSAY_UNROLL
          for (int v = 0; v < kVectors; ++v) acc[r][v] = hn::Zero(d);
        }
        const double* HWY_RESTRICT pa = packed_a.data() + s * kRows * kDepth;
        const double* HWY_RESTRICT pb = packed;
        for (std::int64_t kk = 0; kk < depth; ++kk) {
          V bv[kVectors];
          ASSAY_UNROLL
          for (int v = 0; v < kVectors; ++v) bv[v] = hn::LoadU(d, pb + v * lanes);
          ASSAY_UNROLL
          for (int r = 0; r < kRows; ++r) {
            const V av = hn::Set(d, pa[r]);
            ASSAY_UNROLL
            for (int v = 0; v < kVectors; ++v) acc[r][v] = fused(d, av, bv[v], acc[r][v]);
          }
          pa += kRows;
          pb += columns;
        }
        double* corner = c + s * kRows * n + j;
        if (j + columns <= n && (s + 1) * kRows <= count) {
          ASSAY_UNROLL
          for (int r = 0; r < kRows; ++r) {
            ASSAY_UNROLL
            for (int v = 0; v < kVectors; ++v) {
              double* out = corner + r * n + v * lanes;
              hn::StoreU(hn::Add(hn::LoadU(d, out), acc[r][v]), d, out);
            }
          }
          continue;
        }
        double tile[kRows][kVectors * hn::MaxLanes(D())];
        ASSAY_UNROLL
        for (int r = 0; r < kRows; ++r) {
          ASSAY_UNROLL
          for (int v = 0; v < kVectors; ++v) hn::StoreU(acc[r][v], d, tile[r] + v * lanes);
        }
        for (std::int64_t r = 0; r < std::min<std::int64_t>(kRows, count - s * kRows); ++r) {
          for (std::int64_t jj = 0; jj < std::min(columns, n - j); ++jj) {
            corner[r * n + jj] += tile[r][jj];
          }
        }
      }
    }
  }
}

void multiply_packed_impl(Storage storage, const void* rows, std::ptrdiff_t stride,
                          std::int64_t count, std::int64_t n, std::int64_t k, bool squared,
                          const double* packed, double* c) {
  return by_storage(storage, [&](auto kStorage) HWY_ATTR {
    return multiply_packed_of<kStorage>(rows, stride, count, n, k, squared, packed, c);
  });
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(packed_size_impl);
HWY_EXPORT(pack_row_impl);
HWY_EXPORT(multiply_packed_impl);

std::size_t packed_size(std::int64_t k, std::int64_t n) {
  return HWY_DYNAMIC_DISPATCH(packed_size_impl)(k, n);
}
void pack_row(std::int64_t k, std::int64_t n, std::int64_t kk, const double* row, double* packed) {
  HWY_DYNAMIC_DISPATCH(pack_row_impl)(k, n, kk, row, packed);
}
void multiply_packed(Storage storage, const void* rows, std::ptrdiff_t stride, std::int64_t count,
                     std::int64_t n, std::int64_t k, bool squared, const double* packed,
                     double* c) {
  HWY_DYNAMIC_DISPATCH(multiply_packed_impl)
  (storage, rows, stride, count, n, k, squared, packed, c);
}

}  // namespace assay::simd
#endif
