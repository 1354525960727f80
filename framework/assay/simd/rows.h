// A sum of products along two rows, and what has to be known of the rows to compute it quickly.
#pragma once

#include <cstdint>

namespace assay::simd {

// How large the numbers of a row are. Where one of them is NaN or infinite, `square` is NaN or
// infinite, and the other two members mean nothing.
struct RowRange {
  double square = 0;   // the sum of their squares, to within n 2^-52 of it
  double smallest;     // the smallest |x| of those that are not 0; infinity where all are 0
  double largest = 0;  // the largest |x|
};
RowRange row_range(std::int64_t n, const double* x);

// Adds the products of a and b to c: each chunk of `chunk` products is added exactly, then c is
// rounded to float32, nearest even. Every partial sum must be exact in float64, in any order. It
// stops before a chunk that would make c 0, for the sign of that zero does not follow from the sum
// alone. Returns how many products have been added to c.
std::int64_t chunk_row(int chunk, std::int64_t n, const double* a, const double* b, float& c);

}  // namespace assay::simd
