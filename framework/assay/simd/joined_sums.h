// Sums of products on a matrix unit that adds the accumulator to the finished sum of a chunk's
// products (DotModel::sum_bits of machine/machine.h), for eight sums side by side.
#pragma once

#include <cstdint>

#include "assay/simd/factors.h"

namespace assay::inline v0_2::simd {

// A unit that aligns products toward zero, and rounds to float32, to nearest even. Exponents are
// powers of two here. `kept` and `sum_kept` have at most kMostJoinedBits bits, and a chunk has at
// most kMostJoined products, so that float64 holds every sum.
struct JoinedUnit {
  std::int64_t chunk, interleave;
  double kept, sum_kept;  // 2^-kept_bits and 2^-sum_bits of the DotModel
  double emax_floor;      // smallest emax as a power of two, 0 if there is no limit
  double reach;           // 2^-reach, or 0 if every accumulator is within reach
};
inline constexpr std::int64_t kMostJoined = 128;
inline constexpr int kMostJoinedBits = 42;

// Adds k products to each of rows x kFactorColumns float32 numbers, `sums`. `a` has `rows` rows of
// k factors, and `b` has k rows of kFactorColumns factors. A sum that overflows, or has a factor
// that is NaN or infinite, becomes NaN, and the caller has to compute it.
void joined_sums(const JoinedUnit& unit, std::int64_t rows, std::int64_t k, const SumFactors& a,
                 const SumFactors& b, double* sums);

}  // namespace assay::simd
