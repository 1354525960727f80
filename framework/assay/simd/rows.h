// A sum of products of two rows, and the ranges of the rows' numbers, which are needed to compute
// the sum quickly.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// The sizes of the numbers x of a row. If one of them is NaN or infinite, `square` is NaN or
// infinite, and the other two members are undefined.
struct RowRange {
  double square = 0;   // sum of x^2, with a relative error of n 2^-52
  double smallest;     // smallest |x| that is not 0, infinity if all are 0
  double largest = 0;  // the largest |x|
};
RowRange row_range(std::int64_t n, const double* x);

// Adds the products of a and b to c: each chunk of `chunk` products is added exactly, then c is
// rounded to float32, to nearest even. Every partial sum must be exact in float64, in any order.
// Stops before a chunk that would make c 0, because the sum does not decide the sign of that zero.
// Returns the number of products that were added to c.
std::int64_t chunk_row(int chunk, std::int64_t n, const double* a, const double* b, float& c);

}  // namespace assay::simd
