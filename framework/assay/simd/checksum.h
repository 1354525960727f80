// Sums over the rows of matrices in the formats that matrix units read and write, in one pass over
// the stored bits. All arithmetic is float64; the order of a sum depends on the target's vector
// length, the value by rounding errors of 2^-53 only. Sums of squares and of ulps over long rows of
// 16-bit elements, of which a threshold needs few digits, are right to 2^-19.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/convert.h"

namespace assay::simd {

// Storages that the kernels below read: kF64, kF32, kF16, kBf16.
bool has_checksum_kernel(Storage storage);

// A row of B: sum b_j and sum b_j^2, over groups of `width` columns (the last may be narrower).
// Writes ceil(n / width) entries of each.
void group_sums(Storage storage, const void* row, std::size_t n, std::size_t width, double* sum,
                double* square);

// `count` rows of A, `stride` bytes apart, with two vectors of length n: sum a_k x_k and
// sum a_k^2 y_k of each row.
void row_products(Storage storage, const void* rows, std::ptrdiff_t stride, std::size_t count,
                  std::size_t n, const double* x, const double* y, double* ax, double* aay);

// A row of C by groups: sum c_j, sum ulp(c_j), sum ulp(c_j)^2 in a format with this many mantissa
// bits and this smallest subnormal, and sum c_j^2 (without `squares`: a bound at most four times
// that). Infinite or NaN elements make their group's sums so.
struct OutputSums {
  double sum, ulp, ulp_square, square;
};
void output_sums(Storage storage, const void* row, std::size_t n, std::size_t width,
                 int mantissa_bits, double min_subnormal, bool squares, OutputSums* groups);

// The same groups: sum |c_j| and max |c_j|; where the sum is not finite, max is that as well.
struct OutputSizes {
  double absolute, largest;
};
void output_sizes(Storage storage, const void* row, std::size_t n, std::size_t width,
                  OutputSizes* groups);

// Of a row: sum, smallest, largest; a sum that is NaN makes all of them NaN.
struct RowExtremes {
  double sum, low, high;
};
RowExtremes row_extremes(Storage storage, const void* row, std::size_t n);

// c (count x n, row-major float64) = a times b: `count` rows of a, `stride` bytes apart, of k
// elements each (`squared`: the square of each element instead); count is at most kProductRows. b
// is float64, k x n, packed row by row by pack_row.
inline constexpr std::int64_t kProductRows = 192;
std::size_t packed_size(std::int64_t k, std::int64_t n);
void pack_row(std::int64_t k, std::int64_t n, std::int64_t kk, const double* row, double* packed);
void multiply_packed(Storage storage, const void* rows, std::ptrdiff_t stride, std::int64_t count,
                     std::int64_t n, std::int64_t k, bool squared, const double* packed, double* c);

}  // namespace assay::simd
