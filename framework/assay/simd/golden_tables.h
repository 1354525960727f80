// What the kernels of golden functions look up: made at first use, of numbers to twice the
// precision, high part first.
#pragma once

#include <cstdint>

namespace assay::simd {

// 2^(i / 128) for i < 128.
inline constexpr std::uint64_t kPowers = 128;
const double* power_table();

// For bin i of 128 of [11/16, 11/8), each of as many float64 bits: c, near the reciprocal of its
// middle, - log c, and 0. Of the two bins that 1 is between, c is 1.
inline constexpr std::uint64_t kLogBins = 128, kLogEnd = 0x3fe6000000000000u;
const double* log_table();

// erfc(i / 128) and 2 / sqrt(pi) exp(-(i / 128)^2) for i / 128 from 0 to 24.75.
inline constexpr double kErfcSteps = 128, kErfcEnd = 24.75;
const double* erfc_table();

}  // namespace assay::simd
