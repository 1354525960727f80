// Sums over the rows of matrices in the formats that matrix units read and write, in one pass over
// the stored bits. Sums are float64, and a sum's order is the same on every target: eight lanes
// (eight-inl.h). Only sums of squares and of ulps over long rows of 16-bit elements begin in
// float32. They have a relative error of up to 2^-19, because thresholds need only a few of their
// digits.
#pragma once

#include <cstddef>

#include "assay/simd/convert_kernel.h"

namespace assay::inline v0_2::simd {

// True if the kernels below read this storage: kF64, kF32, kF16 and kBf16.
bool has_checksum_kernel(Storage storage);

// Sums b_j and b_j^2 over a row of B, in groups of `width` columns. The last group may be narrower.
// Writes ceil(n / width) sums of b_j and as many of b_j^2. If `square` is null, writes only the
// sums of b_j, with the same bits.
void group_sums(Storage storage, const void* row, std::size_t n, std::size_t width, double* sum,
                double* square);

// Multiplies `count` rows of A, `stride` bytes apart, by two vectors of length n. Writes ax = sum
// a_k x_k and aay = sum a_k^2 y_k of each row. If aay is null, writes only ax, with the same bits.
void row_products(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
                  std::size_t n, const double* x, const double* y, double* ax, double* aay);

// The results of row_sizes(). For each of `count` rows of A, `stride` bytes apart, it computes sum
// |a_k| x_k, the largest |a_k|, and the largest |a_k| y_k, which is 0 if y is null. x and y hold n
// numbers that are not negative. If the sum is not finite, the other two have its value.
struct RowSizes {
  double weighted, largest, product;
};
void row_sizes(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
               std::size_t n, const double* x, RowSizes* to);
// Computes the sizes, and also az = sum a_k z_k of each row, with the bits of row_products().
void row_sizes(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
               std::size_t n, const double* x, const double* y, RowSizes* to, const double* z,
               double* az);

// Sums over each group of a row of C: of c_j, of ulp(c_j), of ulp(c_j)^2, and of c_j^2. The ulps
// are those of a format with this number of mantissa bits and this smallest subnormal. Without
// `squares` the last sum is only a bound: it is not less than the sum of c_j^2, and at most four
// times as large. An infinite or NaN element makes the sums of its group infinite or NaN.
struct OutputSums {
  double sum, ulp, ulp_square, square;
};
void output_sums(Storage storage, const void* row, std::size_t n, std::size_t width,
                 int mantissa_bits, double min_subnormal, bool squares, OutputSums* groups);

// For the same groups as output_sums(): the sum of c_j, with the same bits, the sum of |c_j| and
// the largest |c_j|. If the sum of |c_j| is not finite, the largest is not either. Without
// `absolute` the sum of |c_j| is 0 if it is finite.
struct OutputSizes {
  double sum, absolute, largest;
};
void output_sizes(Storage storage, const void* row, std::size_t n, std::size_t width, bool absolute,
                  OutputSizes* groups);

// The sum of a row, its smallest and its largest element. If the sum is NaN, so are the other two.
struct RowExtremes {
  double sum, low, high;
};
RowExtremes row_extremes(Storage storage, const void* row, std::size_t n);

}  // namespace assay::simd
