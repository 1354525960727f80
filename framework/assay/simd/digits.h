// The binary digits of numbers, which decide if sums of their products are exact in float64.
#pragma once

#include <cstdint>

namespace assay::simd {

// Statistics of the finite elements of some lanes, which are rows of A or columns of B.
struct Digits {
  static constexpr int kNone = 1 << 20;  // the lowest bit of zeros

  double norm = 0;     // at least the largest 2-norm of a lane, unless squares underflow
  int lowest = kNone;  // 2^lowest divides every element
  // Largest number of bits of an element, from its first to its last bit that is 1.
  int bits = 0;
};

// Returns the digits of values[depth][lanes]. NaN and infinity are set to 0 there, and their lanes
// are marked in `bad`. At most 64 lanes.
Digits take_digits(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad);

}  // namespace assay::simd
