// The binary digits of numbers, which decide if sums of their products are exact in float64.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// Statistics of the finite elements of some lanes, which are rows of A or columns of B.
struct Digits {
  static constexpr int kNone = 1 << 20;  // value of `lowest` if all elements are 0

  // At least the largest 2-norm of a lane, unless squares underflow.
  double norm = 0;
  int lowest = kNone;  // 2^lowest divides every element
  // Largest number of bits of an element, from its first to its last bit that is 1.
  int bits = 0;
};

// Returns the digits of values[depth][lanes]. Sets NaN and infinity in `values` to 0, and marks
// their lanes in `bad`. There may be at most 64 lanes.
Digits take_digits(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad);

}  // namespace assay::simd
