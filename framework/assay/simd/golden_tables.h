// The tables of the kernels of golden functions. They are computed at first use, with twice the
// precision of float64. Numbers with two parts have the high part first.
#pragma once

#include <cstdint>

namespace assay::inline v0_2::simd {

// 2^(i / 128) for i < 128.
inline constexpr std::uint64_t kPowers = 128;
const double* power_table();

// The table of log has four values for each of 128 bins of [11/16, 11/8): c, which is near the
// reciprocal of the bin's middle, the two parts of -log c, and 0. All bins hold the same number of
// float64 values. The two bins beside 1 have c = 1.
inline constexpr std::uint64_t kLogBins = 128, kLogEnd = 0x3fe6000000000000u;
const double* log_table();

// The table of erfc(i / 128) and 2 / sqrt(pi) exp(-(i / 128)^2), for i / 128 from 0 to 24.75.
inline constexpr double kErfcSteps = 128, kErfcEnd = 24.75;
const double* erfc_table();

}  // namespace assay::simd
