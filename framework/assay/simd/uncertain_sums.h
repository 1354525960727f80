// Sums by pairs of numbers that have been through roundings, with what chance makes of their errors
// (machine/uncertain.h has the theory and the scalar arithmetic).
#pragma once

#include <cstddef>

namespace assay::simd {

// The fields of numbers (Uncertain), each in an array. `grid` is the power of 2 of which the number
// is a multiple. It is infinity for 0, and 0 if the number is a multiple of no power. `known` and
// `odd` are 1 or 0.
struct UncertainArrays {
  double *value, *grid, *mean, *variance, *known, *odd;
};

// A rounding to nearest even: an ulp is ulp_of_one times the number's power of 2, `least` at least.
struct UncertainStep {
  double ulp_of_one, least;
};

// Sets n numbers that are exact.
void set_exact(std::size_t n, const double* values, const UncertainArrays& to);

// Replaces the n numbers by the sums of two neighbours each, of which there are (n + 1) / 2: the
// last number of an odd n stays as it is. Rounds each sum if `rounds` is true. The bits are the
// same on every SIMD target.
void add_pairs(std::size_t n, const UncertainStep& step, bool rounds,
               const UncertainArrays& numbers);

}  // namespace assay::simd
