// Computes the reference value of each element of a matrix product, and the sums from which a bound
// of its accumulation error is made.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::inline v0_2::simd {

struct ElementSums {
  // sum_k a_k b_k, to which the rounding errors of products and sums are added.
  double reference = 0;
  double absolute = 0;        // sum_k |a_k b_k|
  double squares = 0;         // sum_k (a_k b_k)^2
  double prefix_squares = 0;  // sum over chunks of (the partial sum after the chunk)^2
};

// Multiplies the row a (k values) by the columns 0 to n - 1 of b, whose row kk starts at b + kk *
// stride. A chunk has `chunk` products, and the last chunk may be shorter. The sums of column j
// start at start[j], or at 0 if `start` is nullptr. The reference adds start[j] last. The bits are
// the same on every target.
void element_sums(std::int64_t k, std::int64_t n, std::int64_t chunk, const double* a,
                  const double* b, std::ptrdiff_t stride, const double* start, ElementSums* to);

}  // namespace assay::simd
