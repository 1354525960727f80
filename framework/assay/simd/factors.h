// The factors of sums of products, with the powers of two of their first and last digits.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// The number of columns whose sums are computed side by side.
inline constexpr std::int64_t kFactorColumns = 8;

// Factors of products: float64 numbers that hold values of formats of at most 32 bits. Two factors
// have at most 53 digits together, so that products are exact.
struct SumFactors {
  const double* value;
  // 2^e, so that the value is an odd multiple of 2^e, or infinity for the value 0.
  const double* lowest_bit;
  // 2^e with 2^e <= |value| < 2^(e + 1), or 0 for the value 0.
  const double* leading_bit;
};

// Writes values with their lowest and leading bits. A leading bit is at least `least_exponent`,
// unless the value is 0. Values below `flush_below` in size become 0. Returns true if one of these
// was not 0 before. Value `i` of row `row` is read from row * stride + i, and written to row *
// width + i, for i < count. The rest of a row, up to `width`, is filled with copies of the last
// value.
struct FactorsRead {
  const double* from;
  std::int64_t rows, count, stride, width;
  double least_exponent, flush_below;
};
bool read_factors(const FactorsRead& read, double* value, double* lowest_bit, double* leading_bit);

}  // namespace assay::simd
