// What digits numbers have, which tells whether sums of their products are exact in float64.
#pragma once

#include <cstdint>

namespace assay::simd {

// Of the finite elements of some lanes: rows of A, or columns of B.
struct Digits {
  static constexpr int kNone = 1 << 20;  // the lowest bit of zeros

  double norm = 0;     // at least the largest 2-norm of a lane, unless squares underflow
  int lowest = kNone;  // 2^lowest divides every element
  int bits = 0;        // the most that an element has, from its first to its last one that is 1
};

// The digits of values[depth][lanes]. NaN and infinity become 0 there, and their lanes are marked
// in `bad`. At most 64 lanes.
Digits take_digits(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad);

}  // namespace assay::simd
