// The products of a chunk that a unit aligns to one grid and cuts toward zero: their sum, and what
// chance makes of the errors of the cuts (machine/uncertain.h has the theory).
#pragma once

#include <cstdint>

namespace assay::simd {

// The factors of products, each array of the same length. They are float64 numbers that hold
// factors of at most 32 bits, so that products of two powers of two are exact.
struct ChunkFactors {
  const double* value;
  const double* lowest_bit;   // of a value: 2^e, of which it is an odd multiple; infinity for 0
  const double* leading_bit;  // 2^e <= |value| < 2^(e + 1); 0 for 0
};

struct ChunkErrors {
  double sum = 0;   // of the products
  double size = 0;  // of their absolute values
  double mean = 0;  // of the error of the sum of the cut products
  double variance = 0;
  double lowest_bit;  // the least of the cut products; infinity if all products are 0
  bool cuts = false;  // whether a product has digits below `unit`
};

// Returns the largest leading bit of a product, 2^(e + f) for factors of 2^e and 2^f; 0 if all
// products are 0.
double largest_leading_bit(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b);

// Cuts n products to multiples of `unit`, a power of two from 2^-400 to 2^400, or to none if it is
// 0. A product v that is an odd multiple of g < unit, r = unit / g, has an error of the mean
// -sign(v) unit / 2 and the variance unit^2 / 12 (1 - 4 / r^2); one below the unit loses all of
// itself. Products are added in eight lanes, so that every SIMD target gives the same bits.
ChunkErrors chunk_errors(std::int64_t n, const ChunkFactors& a, const ChunkFactors& b, double unit);

}  // namespace assay::simd
