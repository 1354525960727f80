#include "assay/machine/any_order.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/machine/uncertain.h"

namespace assay::inline v0_2 {
namespace {

// Number of segments of the terms. The remainders of each segment are summed separately.
constexpr int kSegments = 4;
// If the remainders of the terms have random signs, the sizes of the segments' sums of remainders
// add up to about 1.6 standard deviations of the sum of all remainders. If they add up to more than
// 2.2 standard deviations, the remainders are taken to have a common sign.
constexpr double kByChance = 2.2;

bool is_exact(const AnyOrderUnit& unit, double size, double grid) {
  return size <= std::ldexp(grid, unit.precision) && grid >= unit.least;
}

// Returns the largest (n / L + L) Q_L of column w over the numbers L of lanes. Q_L is the sum of
// the squares of the sums of L strided lanes (any_order.h).
double of_strided(const simd::StridedSums& lanes, std::int64_t n, std::int64_t w) {
  double most = 0;
  for (int i = 0; i < lanes.strides; ++i) {
    const std::int64_t count = std::int64_t{2} << i;
    most = std::max(most, static_cast<double>(n / count + count) * lanes.squares[i][w]);
  }
  return most;
}

// Returns the ulp of the largest sum.
double ulp_of(const AnyOrderUnit& unit, double largest) {
  if (!(largest > 0 && std::isfinite(largest))) return unit.least;
  return std::max(std::ldexp(1.0, exponent_of(largest) - (unit.precision - 1)), unit.least);
}

// Adds the size of the terms' remainders to the drift of each column, unless chance explains this
// size. The remainders are those of rounding each term to the ulp of the largest sum, to half of it
// or to a quarter of it; the largest size counts. The error of a sum that stays within a binade is
// exactly a sum of such remainders.
void add_remainders(const simd::ColumnTerms& sums, const double* ulps, double* drift) {
  simd::OfColumns totals[simd::kGrids];
  simd::remainder_sums(sums, kSegments, ulps, totals);
  for (std::int64_t w = 0; w < sums.columns; ++w) {
    double worst = 0;
    for (const simd::OfColumns& total : totals) worst = std::max(worst, total[w]);
    const double by_chance = ulps[w] * std::sqrt(static_cast<double>(sums.n) / 12);
    if (worst > kByChance * by_chance) drift[w] += worst;
  }
}

// Adds to the drift the digits that a unit cuts off if it rounds toward zero: half an ulp of each
// aligned term (or the whole term if it is smaller), with the sign of the term, and half an ulp of
// each truncated sum.
void add_truncation(const AnyOrderUnit& unit, const simd::ColumnTerms& sums, const double* ulps,
                    double* drift) {
  simd::OfColumns halves, totals;
  for (std::int64_t w = 0; w < sums.columns; ++w) halves[w] = ulps[w] / 2;
  simd::limited_sums(sums, kSegments, halves, totals);
  const double roundings = std::ceil(unit.truncated * static_cast<double>(sums.n));
  for (std::int64_t w = 0; w < sums.columns; ++w) drift[w] += totals[w] + roundings * halves[w];
}

}  // namespace

AnyOrderUnit::AnyOrderUnit(const Format& accumulator)
    : precision(accumulator.precision),
      least(min_subnormal(accumulator)),
      most(max_finite(accumulator)) {}

double AnyOrderUnit::unit_roundoff() const { return std::ldexp(1.0, -precision); }

void any_order_errors(const AnyOrderUnit& unit, std::int64_t n, std::int64_t columns,
                      const double* terms, const double* grids, double* variance, double* drift) {
  const simd::ColumnTerms sums{n, columns, terms};
  const simd::PartialSums partial = simd::partial_sums(sums);
  std::fill_n(variance, columns, 0.0);
  std::fill_n(drift, columns, 0.0);
  bool all_exact = true;
  for (std::int64_t w = 0; w < columns; ++w) {
    all_exact = all_exact && is_exact(unit, partial.sizes[w], grids[w]);
  }
  if (all_exact) return;
  const simd::StridedSums lanes = simd::strided_sums(sums);
  const auto count = static_cast<double>(n);
  const double u = unit.unit_roundoff();
  simd::OfColumns ulps;
  for (std::int64_t w = 0; w < columns; ++w) {
    const double range = partial.high[w] - partial.low[w], sum = partial.sum[w],
                 squares = partial.squares[w];
    const double bridge = (count + 1) * (sum * sum + squares),
                 contiguous = count * range * range + squares,
                 strided = of_strided(lanes, n, w) + count * squares / 2;
    variance[w] = u * u / 3 * std::max({bridge, contiguous, strided});
    ulps[w] = ulp_of(unit, std::max(range, lanes.largest[w]));
  }
  add_remainders(sums, ulps, drift);
  if (unit.truncated > 0) add_truncation(unit, sums, ulps, drift);
  for (std::int64_t w = 0; w < columns; ++w) {
    if (is_exact(unit, partial.sizes[w], grids[w])) {
      variance[w] = drift[w] = 0;
    } else if (!(partial.sizes[w] <= unit.most)) {
      variance[w] = std::numeric_limits<double>::infinity();
      drift[w] = 0;
    } else if (grids[w] < unit.least) {
      // Each term may lose half of the accumulator's smallest subnormal, because the digits below
      // it are dropped.
      drift[w] += count * unit.least / 2;
    }
  }
}

}  // namespace assay
