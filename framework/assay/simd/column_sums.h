// Sums of the columns of a matrix, one term after the other, and the statistics of the columns'
// terms that the theory of sums in any order needs (machine/any_order.h has the theory).
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// The number of columns that are summed side by side.
inline constexpr std::int64_t kSummedColumns = 8;

// The terms of the sums: n x columns finite numbers, row-major. `columns` is 1 or kSummedColumns. A
// column gives the same bits with and without others beside it, and on every SIMD target.
struct ColumnTerms {
  std::int64_t n, columns;
  const double* terms;
};

// One value for each column. The first ColumnTerms::columns are set.
using OfColumns = double[kSummedColumns];

struct PartialSums {
  OfColumns sizes;    // sum |t|
  OfColumns squares;  // sum t^2
  OfColumns sum;
  OfColumns low, high;  // the smallest and the largest of 0 and the partial sums
};
PartialSums partial_sums(const ColumnTerms& columns);

// A column is divided into at most 2^kStrides strided lanes.
inline constexpr int kStrides = 10;

// Strided lanes of a column: lane l of L adds the terms l, l + L, l + 2 L, ...
struct StridedSums {
  int strides = 0;  // L is 2, 4, ..., 2^strides
  // squares[i] is the sum of the squares of the sums of 2^(i + 1) lanes.
  OfColumns squares[kStrides];
  // The largest |sum of a lane|, over all numbers of lanes. 0 if `strides` is 0.
  OfColumns largest;
};
// Sums the lanes of each column. `strides` is the largest number up to kStrides with 2^strides < n,
// and 0 for fewer than 3 terms. The sum of lane l of L is that of lane l plus that of lane l + L of
// 2 L lanes.
StridedSums strided_sums(const ColumnTerms& columns);

// The number of grids for remainder_sums().
inline constexpr int kGrids = 3;

// Rounds each term t to the grids U, U / 2 and U / 4, to nearest even. `grids` has the U of each
// column, a power of 2. For each grid, sums the remainders round(t) - t in each of `segments` parts
// of a column, and writes the sum of the sizes of these sums to totals[i], with i = 0, 1, 2 for the
// grid U / 2^i. Terms of 2^49 U and more are rounded to a coarser grid.
void remainder_sums(const ColumnTerms& columns, int segments, const double* grids,
                    OfColumns* totals);

// Limits the size of each term to the limit of its column in `limits`. Sums the limited terms in
// each of `segments` parts of a column, and writes the sum of the sizes of these sums to `totals`.
void limited_sums(const ColumnTerms& columns, int segments, const double* limits, double* totals);

// Writes the products of a row of k values with each of kSummedColumns columns to `terms`,
// row-major. Values of a column lie `stride` apart. The grid of a value is the largest power of 2
// of which it is a multiple, infinity if it is 0. Writes the smallest grid of the products of each
// column to `grids`.
void column_products(std::int64_t k, std::int64_t stride, const double* row,
                     const double* row_grids, const double* columns, const double* column_grids,
                     double* terms, double* grids);

}  // namespace assay::simd
