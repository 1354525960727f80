// The binary digits of numbers, which decide if sums of their products are exact in float64.
#pragma once

#include <cstdint>

namespace assay::simd {

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
// their lanes in `bad`. There may be at most 64 lanes. @double_double-inl.h:28 These functions
// return results without error. ordered_sum() returns a + b if |a| >= |b| or a = 0. If not, its
// result is within 2^-104 of the larger one. any_sum() returns a + b for any two numbers. product()
// returns a b if it is above 2^-960 and neither factor is above 2^960. @double_double-inl.h:44
// Dekker's product, with Veltkamp's halves of 26 bits. @double_double-inl.h:63 These functions have
// relative errors of at most 2^-101, but pair_sum() only if both numbers have the same sign.
// @double_double-inl.h:78 Returns sum t_i x^i, for the terms t_i, by Horner's rule.
// @double_double-inl.h:86 A result in the lanes of a vector, and the lanes in which it is correctly
// rounded.
Digits take_digits(double* values, std::int64_t depth, std::int64_t lanes, std::uint8_t* bad);

}  // namespace assay::simd
