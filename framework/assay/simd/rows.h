// One sum of products along two rows, and what has to be known of the rows to take it quickly.
#pragma once

#include <cstdint>

namespace assay::simd {

// Of the numbers in a row. Where one is NaN or infinite `square` is, too, and the rest says
// nothing.
struct RowRange {
  double square = 0;  // the sum of their squares, to within n 2^-52 of it
  double smallest;    // |x|, of those not 0; infinity where all are 0
  double largest = 0;
};
RowRange row_range(std::int64_t n, const double* x);

// c = c + a . b, each chunk of `chunk` products added exactly, then rounded to float32, nearest
// even. Every partial sum must be exact in float64, in any order. Stops before a chunk after which
// c would be 0, whose sign depends on more: the number of products that c holds.
std::int64_t chunk_row(int chunk, std::int64_t n, const double* a, const double* b, float& c);

}  // namespace assay::simd
