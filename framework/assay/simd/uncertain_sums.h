// Pairwise sums of numbers that have been rounded several times, with the statistics of their
// errors (machine/uncertain.h has the theory and the scalar arithmetic).
#pragma once

#include <cstddef>

namespace assay::simd {

// The fields of numbers (Uncertain), each in an array. `grid` is the largest power of 2 that is
// known to divide the number. It is infinity for 0, and 0 if no power is known. `known` and `odd`
// are 1 or 0.
struct UncertainArrays {
  double *value, *grid, *mean, *variance, *known, *odd;
};

// A rounding to nearest even: an ulp is ulp_of_one times the number's power of 2, `least` at least.
struct UncertainStep {
  double ulp_of_one, least;
};

// Sets n numbers that are exact.
void set_exact(std::size_t n, const double* values, const UncertainArrays& to);

// Replaces the n numbers by the sums of two neighbours each. There are (n + 1) / 2 of these. If n
// is odd, the last number does not change. Rounds each sum if `rounds` is true. The bits are the
// same on every SIMD target.
void add_pairs(std::size_t n, const UncertainStep& step, bool rounds,
               const UncertainArrays& numbers);

}  // namespace assay::simd
