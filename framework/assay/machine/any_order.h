// The errors of float sums whose order of addition is not known: their variance, and how far the
// mean may be off. Both cover every order in which kernels add. Kernels add one after the other
// from either end, in pairs, in blocks, in contiguous or strided parts of K, and in random orders.
// (docs/expected_error.md derives the formulas.)
#pragma once

#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/column_sums.h"

namespace assay::inline v0_2 {

// The arithmetic of the unit that adds.
struct AnyOrderUnit {
  int precision = 24;  // number of significand bits of the accumulator
  double least = 0;    // smallest subnormal of the accumulator
  double most = 0;     // largest finite value of the accumulator
  // Number of sums that the unit rounds toward zero, divided by the number of terms: 1/16 if each
  // chunk of 16 products gives one such sum. 0 if the unit does not truncate.
  double truncated = 0;

  // Describes a unit that rounds to nearest even in this accumulator.
  explicit AnyOrderUnit(const Format& accumulator);
  double unit_roundoff() const;
};

// The number of sums that any_order_errors() computes side by side.
inline constexpr std::int64_t kAnyOrderColumns = simd::kSummedColumns;

// Computes the variance and the drift of the errors of `columns` (1 or kAnyOrderColumns) sums of n
// terms each, in the units of the terms. `terms` is n x columns, row-major. The terms may already
// have been rounded one by one before they are added. `grids` has one value for each sum: the
// largest power of 2 that divides all of its terms, infinity if all terms are 0, and 0 if there is
// no such power. Writes one value for each sum to `variance` (in squared units) and to `drift`:
//
//   0, 0          if every partial sum in every order is exact: sum |t| <= 2^precision grid
//   infinity, 0   if a partial sum may overflow
//   otherwise     u^2 / 3 max((n + 1) (s^2 + Q), n R^2 + Q, max_L (n / L + L) Q_L + n Q / 2), with
//                 the sum s, Q = sum t^2, the range R of the partial sums from 0 to s, and Q_L the
//                 sum of the squares of the sums of L strided lanes, L a power of 2 up to 1024.
//                 The drift is not 0 if the terms' remainders have one sign, as those of equal
//                 terms do, if the unit truncates, or if terms have digits below `least`.
//
// Throws nothing. The result does not depend on the number of columns.
void any_order_errors(const AnyOrderUnit& unit, std::int64_t n, std::int64_t columns,
                      const double* terms, const double* grids, double* variance, double* drift);

}  // namespace assay
