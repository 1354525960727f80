// The elementwise rule over whole arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

// Of n elements: those that miss, !(|actual[i] - expected[i]| <= atol + rtol * |expected[i]|), each
// step rounded to float64; those at which 0 in place of actual[i] would not miss, expected[i] = 0
// included; and those with expected[i] = 0. Every pair with a NaN or infinity in it misses: the
// caller settles those by its policy.
struct Comparison {
  std::int64_t misses = 0, zero_within = 0, zero = 0;
};
Comparison compare(const double* actual, const double* expected, std::size_t n, double atol,
                   double rtol);
// The same for float32 arrays, evaluated in float64.
Comparison compare(const float* actual, const float* expected, std::size_t n, double atol,
                   double rtol);

}  // namespace assay::simd
