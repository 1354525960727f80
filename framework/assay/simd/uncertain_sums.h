// Pairwise sums of numbers that have been rounded several times, with the statistics of their
// errors (machine/uncertain.h has the theory and the scalar arithmetic).
#pragma once

#include <cstddef>

namespace assay::inline v0_2::simd {

// The fields of n numbers (Uncertain), each in an array. `grid` is the largest power of 2 that is
// known to divide the number. It is infinity for 0, and 0 if no power is known. `known` and `odd`
// are 1 or 0.
struct UncertainArrays {
  double *value, *grid, *mean, *variance, *known, *odd;
};

// A rounding to nearest even. An ulp is ulp_of_one times the power of 2 of the number's exponent,
// but at least `least`.
struct UncertainStep {
  double ulp_of_one, least;
};

// Writes the fields of n numbers that are exact.
void set_exact(std::size_t n, const double* values, const UncertainArrays& to);

// Replaces each two neighbours of the n numbers by their sum, which leaves (n + 1) / 2 numbers. If
// n is odd, the last number does not change. Rounds each sum if `rounds` is true. The bits are the
// same on every SIMD target.
void add_pairs(std::size_t n, const UncertainStep& step, bool rounds,
               const UncertainArrays& numbers);

}  // namespace assay::simd
