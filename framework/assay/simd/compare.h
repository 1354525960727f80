// The elementwise rule over whole arrays.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::simd {

// How many i have !(|actual[i] - expected[i]| <= atol + rtol * |expected[i]|), each step rounded to
// float64. Every pair with a NaN or infinity in it counts: the caller settles those by its policy.
std::int64_t count_misses(const double* actual, const double* expected, std::size_t n, double atol,
                          double rtol);
// The same for float32 arrays, evaluated in float64.
std::int64_t count_misses(const float* actual, const float* expected, std::size_t n, double atol,
                          double rtol);

}  // namespace assay::simd
