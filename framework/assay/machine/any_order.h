// The errors of float sums whose order is not known: their variance, and how far the mean may be
// off, such that they cover every order that kernels add in. Those are one after the other from
// either end, by pairs, in blocks, in parts of K that are contiguous or strided, and drawn at
// random (docs/expected_error.md derives the formulas).
#pragma once

#include <cstdint>

#include "assay/format/format.h"
#include "assay/simd/column_sums.h"

namespace assay {

// The arithmetic that adds.
struct AnyOrderUnit {
  int precision = 24;    // bits of the accumulator
  double least = 0;      // its smallest subnormal
  double most = 0;       // its largest finite value
  double truncated = 0;  // how many sums a term brings that are rounded toward zero; 0: none

  // Rounds to nearest even.
  explicit AnyOrderUnit(const Format& accumulator);
  double unit_roundoff() const;
};

// How many sums any_order_errors() takes side by side.
inline constexpr std::int64_t kAnyOrderColumns = simd::kSummedColumns;

// The errors of `columns` (1 or kAnyOrderColumns) sums of n terms each, in the units of the terms.
// `terms` is n x columns, row-major: numbers that may be rounded by themselves before they are
// added. `grids` has for each sum the largest power of 2 of which all of its terms are multiples,
// infinity if all of them are 0, and 0 if there is none. Writes to `variance` (in squared units)
// and `drift` one value for each sum:
//
//   0, 0          if every partial sum in every order is exact: sum |t| <= 2^precision grid
//   infinity, 0   if a partial sum may overflow
//   else          u^2 / 3 max((n + 1) (s^2 + Q), n R^2 + Q, max_L (n / L + L) Q_L + n Q / 2), with
//                 the sum s, Q = sum t^2, the range R of the partial sums from 0 to s, and Q_L the
//                 squares of the sums of L strided lanes, L a power of 2 up to 1024; and a drift
//                 where the terms' remainders have one sign, as those of constants have
//
// Throws nothing. The result does not depend on the number of columns.
void any_order_errors(const AnyOrderUnit& unit, std::int64_t n, std::int64_t columns,
                      const double* terms, const double* grids, double* variance, double* drift);

}  // namespace assay
