#include "assay/simd/column_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "assay/simd/column_sums.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

#include "assay/simd/unroll.h"

HWY_BEFORE_NAMESPACE();
namespace assay::inline v0_2::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The vector type for W columns. A target whose vectors are smaller needs several vectors.
template <std::size_t W>
using Tag = hn::CappedTag<double, W>;
template <std::size_t W>
constexpr std::size_t kPart = hn::MaxLanes(Tag<W>());
template <std::size_t W>
constexpr std::size_t kParts = W / kPart<W>;
constexpr std::size_t kAll = kSummedColumns;

template <std::size_t W>
HWY_INLINE hn::Vec<Tag<W>> load_part(const double* row, std::size_t part) {
  return hn::LoadU(Tag<W>(), row + part * kPart<W>);
}
template <std::size_t W>
HWY_INLINE void store_part(hn::Vec<Tag<W>> values, double* row, std::size_t part) {
  hn::StoreU(values, Tag<W>(), row + part * kPart<W>);
}

template <std::size_t W>
HWY_INLINE void add_partial_sums(const ColumnTerms& columns, PartialSums& to) {
  const Tag<W> d;
  hn::Vec<Tag<W>> sizes[kParts<W>], squares[kParts<W>], sum[kParts<W>], low[kParts<W>],
      high[kParts<W>];
  ASSAY_UNROLL
  for (std::size_t i = 0; i < kParts<W>; ++i) {
    sizes[i] = squares[i] = sum[i] = low[i] = high[i] = hn::Zero(d);
  }
  const double* row = columns.terms;
  for (std::int64_t k = 0; k < columns.n; ++k, row += W) {
    ASSAY_UNROLL
    for (std::size_t i = 0; i < kParts<W>; ++i) {
      const auto t = load_part<W>(row, i);
      sizes[i] = hn::Add(sizes[i], hn::Abs(t));
      squares[i] = hn::Add(squares[i], hn::Mul(t, t));
      sum[i] = hn::Add(sum[i], t);
      low[i] = hn::Min(low[i], sum[i]);
      high[i] = hn::Max(high[i], sum[i]);
    }
  }
  for (std::size_t i = 0; i < kParts<W>; ++i) {
    store_part<W>(sizes[i], to.sizes, i);
    store_part<W>(squares[i], to.squares, i);
    store_part<W>(sum[i], to.sum, i);
    store_part<W>(low[i], to.low, i);
    store_part<W>(high[i], to.high, i);
  }
}

// Writes a[i] + b[i] to to[i] for n elements.
HWY_INLINE void add_arrays(std::size_t n, const double* a, const double* b, double* to) {
  const hn::ScalableTag<double> d;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, to + i);
  }
  for (; i < n; ++i) to[i] = a[i] + b[i];
}

template <std::size_t W>
HWY_INLINE void add_strided_sums(const ColumnTerms& columns, StridedSums& to) {
  const Tag<W> d;
  const auto n = static_cast<std::size_t>(columns.n);
  std::size_t lanes = std::size_t{1} << to.strides;
  double sums[(std::size_t{1} << kStrides) * W];
  // 2^strides < n, so every lane has a term.
  std::copy_n(columns.terms, lanes * W, sums);
  for (std::size_t first = lanes; first < n; first += lanes) {
    add_arrays(std::min(lanes, n - first) * W, sums, columns.terms + first * W, sums);
  }
  hn::Vec<Tag<W>> largest[kParts<W>];
  ASSAY_UNROLL
  for (std::size_t i = 0; i < kParts<W>; ++i) largest[i] = hn::Zero(d);
  for (int stride = to.strides - 1; stride >= 0; --stride) {
    hn::Vec<Tag<W>> squares[kParts<W>];
    ASSAY_UNROLL
    for (std::size_t i = 0; i < kParts<W>; ++i) squares[i] = hn::Zero(d);
    for (std::size_t l = 0; l < lanes; ++l) {
      ASSAY_UNROLL
      for (std::size_t i = 0; i < kParts<W>; ++i) {
        const auto t = load_part<W>(sums + l * W, i);
        squares[i] = hn::Add(squares[i], hn::Mul(t, t));
        largest[i] = hn::Max(largest[i], hn::Abs(t));
      }
    }
    for (std::size_t i = 0; i < kParts<W>; ++i) store_part<W>(squares[i], to.squares[stride], i);
    lanes /= 2;
    add_arrays(lanes * W, sums, sums + lanes * W, sums);
  }
  for (std::size_t i = 0; i < kParts<W>; ++i) store_part<W>(largest[i], to.largest, i);
}

// Adds the sizes of `part`, the sums of a segment, to the totals.
template <std::size_t W>
HWY_INLINE void add_sizes(const hn::Vec<Tag<W>>* part, double* totals) {
  for (std::size_t i = 0; i < kParts<W>; ++i) {
    store_part<W>(hn::Add(load_part<W>(totals, i), hn::Abs(part[i])), totals, i);
  }
}

template <std::size_t W>
HWY_INLINE void add_remainder_sums(const ColumnTerms& columns, int segments, const double* grids,
                                   OfColumns* totals) {
  const Tag<W> d;
  // Numbers whose last bit, the 53rd, has the weight of the grid. Adding such a number and
  // subtracting it again rounds to the grid.
  hn::Vec<Tag<W>> magic[kGrids][kParts<W>];
  ASSAY_UNROLL
  for (int g = 0; g < kGrids; ++g) {
    std::fill_n(totals[g], W, 0.0);
    const auto scale = hn::Set(d, 1.0 / (1 << g)), rounds = hn::Set(d, 0x1.8p52);
    ASSAY_UNROLL
    for (std::size_t i = 0; i < kParts<W>; ++i) {
      magic[g][i] = hn::Mul(rounds, hn::Mul(load_part<W>(grids, i), scale));
    }
  }
  for (int segment = 0; segment < segments; ++segment) {
    hn::Vec<Tag<W>> sums[kGrids][kParts<W>];
    ASSAY_UNROLL
    for (int g = 0; g < kGrids; ++g) {
      ASSAY_UNROLL
      for (std::size_t i = 0; i < kParts<W>; ++i) sums[g][i] = hn::Zero(d);
    }
    const std::int64_t end = columns.n * (segment + 1) / segments;
    for (std::int64_t k = columns.n * segment / segments; k < end; ++k) {
      const double* row = columns.terms + k * static_cast<std::int64_t>(W);
      ASSAY_UNROLL
      for (std::size_t i = 0; i < kParts<W>; ++i) {
        const auto t = load_part<W>(row, i);
        ASSAY_UNROLL
        for (int g = 0; g < kGrids; ++g) {
          const auto rounded = hn::Sub(hn::Add(t, magic[g][i]), magic[g][i]);
          sums[g][i] = hn::Add(sums[g][i], hn::Sub(rounded, t));
        }
      }
    }
    ASSAY_UNROLL
    for (int g = 0; g < kGrids; ++g) add_sizes<W>(sums[g], totals[g]);
  }
}

template <std::size_t W>
HWY_INLINE void add_limited_sums(const ColumnTerms& columns, int segments, const double* limits,
                                 double* totals) {
  const Tag<W> d;
  std::fill_n(totals, W, 0.0);
  hn::Vec<Tag<W>> limit[kParts<W>];
  ASSAY_UNROLL
  for (std::size_t i = 0; i < kParts<W>; ++i) limit[i] = load_part<W>(limits, i);
  for (int segment = 0; segment < segments; ++segment) {
    hn::Vec<Tag<W>> sums[kParts<W>];
    ASSAY_UNROLL
    for (std::size_t i = 0; i < kParts<W>; ++i) sums[i] = hn::Zero(d);
    const std::int64_t end = columns.n * (segment + 1) / segments;
    for (std::int64_t k = columns.n * segment / segments; k < end; ++k) {
      const double* row = columns.terms + k * static_cast<std::int64_t>(W);
      ASSAY_UNROLL
      for (std::size_t i = 0; i < kParts<W>; ++i) {
        const auto t = load_part<W>(row, i);
        sums[i] = hn::Add(sums[i], hn::Min(hn::Max(t, hn::Neg(limit[i])), limit[i]));
      }
    }
    add_sizes<W>(sums, totals);
  }
}

void partial_sums_impl(const ColumnTerms& columns, PartialSums& to) {
  columns.columns == 1 ? add_partial_sums<1>(columns, to) : add_partial_sums<kAll>(columns, to);
}
void strided_sums_impl(const ColumnTerms& columns, StridedSums& to) {
  columns.columns == 1 ? add_strided_sums<1>(columns, to) : add_strided_sums<kAll>(columns, to);
}
void remainder_sums_impl(const ColumnTerms& columns, int segments, const double* grids,
                         OfColumns* totals) {
  columns.columns == 1 ? add_remainder_sums<1>(columns, segments, grids, totals)
                       : add_remainder_sums<kAll>(columns, segments, grids, totals);
}
void limited_sums_impl(const ColumnTerms& columns, int segments, const double* limits,
                       double* totals) {
  columns.columns == 1 ? add_limited_sums<1>(columns, segments, limits, totals)
                       : add_limited_sums<kAll>(columns, segments, limits, totals);
}

void column_products_impl(std::int64_t k, std::int64_t stride, const double* row,
                          const double* row_grids, const double* columns,
                          const double* column_grids, double* terms, double* grids) {
  const Tag<kAll> d;
  hn::Vec<Tag<kAll>> least[kParts<kAll>];
  ASSAY_UNROLL
  for (auto& part : least) part = hn::Set(d, std::numeric_limits<double>::infinity());
  for (std::int64_t at = 0; at < k; ++at) {
    const auto value = hn::Set(d, row[at]), grid = hn::Set(d, row_grids[at]);
    ASSAY_UNROLL
    for (std::size_t i = 0; i < kParts<kAll>; ++i) {
      store_part<kAll>(hn::Mul(value, load_part<kAll>(columns, i)), terms, i);
      least[i] = hn::Min(least[i], hn::Mul(grid, load_part<kAll>(column_grids, i)));
    }
    columns += stride;
    column_grids += stride;
    terms += kAll;
  }
  for (std::size_t i = 0; i < kParts<kAll>; ++i) store_part<kAll>(least[i], grids, i);
}

}  // namespace assay::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::inline v0_2::simd {

HWY_EXPORT(partial_sums_impl);
HWY_EXPORT(strided_sums_impl);
HWY_EXPORT(remainder_sums_impl);
HWY_EXPORT(limited_sums_impl);
HWY_EXPORT(column_products_impl);

PartialSums partial_sums(const ColumnTerms& columns) {
  PartialSums sums;
  HWY_DYNAMIC_DISPATCH(partial_sums_impl)(columns, sums);
  return sums;
}

StridedSums strided_sums(const ColumnTerms& columns) {
  StridedSums sums;
  std::fill_n(sums.largest, kSummedColumns, 0.0);
  if (columns.n < 3) return sums;
  const auto last = static_cast<std::uint64_t>(columns.n - 1);
  sums.strides = std::min(kStrides, static_cast<int>(std::bit_width(last)) - 1);
  HWY_DYNAMIC_DISPATCH(strided_sums_impl)(columns, sums);
  return sums;
}

void remainder_sums(const ColumnTerms& columns, int segments, const double* grids,
                    OfColumns* totals) {
  HWY_DYNAMIC_DISPATCH(remainder_sums_impl)(columns, segments, grids, totals);
}

void limited_sums(const ColumnTerms& columns, int segments, const double* limits, double* totals) {
  HWY_DYNAMIC_DISPATCH(limited_sums_impl)(columns, segments, limits, totals);
}

void column_products(std::int64_t k, std::int64_t stride, const double* row,
                     const double* row_grids, const double* columns, const double* column_grids,
                     double* terms, double* grids) {
  HWY_DYNAMIC_DISPATCH(column_products_impl)
  (k, stride, row, row_grids, columns, column_grids, terms, grids);
}

}  // namespace assay::simd
#endif
